package rush

import (
	"context"
	"fmt"

	"github.com/rpcgate/rpcgate/demo/server"
)

// Result is what a rush came to.
type Result struct {
	OK      bool `json:"ok"` // the gate kept its promises
	Ungated Side `json:"ungated"`
	Gated   Side `json:"gated"`

	Broken []string `json:"-"` // the promises that were not kept, in words
}

// Run plays the rush without and with gates.
func Run(ctx context.Context, c Config) (Result, error) {
	if err := c.Check(); err != nil {
		return Result{}, err
	}
	var r Result
	var err error
	c.Progress(fmt.Sprintf("without gates: %d clients, %d rounds of %s", c.Clients, c.Rounds(), c.Deadline))
	if r.Ungated, err = playSide(ctx, c, nil); err != nil {
		return Result{}, fmt.Errorf("without gates: %w", err)
	}
	gates, err := server.NewGates(c.gates())
	if err != nil {
		return Result{}, err
	}
	c.Progress(fmt.Sprintf("with gates: %d calls at once in front of %d connections", c.Gate, Pool))
	if r.Gated, err = playSide(ctx, c, gates); err != nil {
		return Result{}, fmt.Errorf("with gates: %w", err)
	}
	r.Broken = broken(r.Ungated, r.Gated, c)
	r.OK = len(r.Broken) == 0
	return r, nil
}

// serviceTimes is how many times the service time an answer may take, apart from waiting at the gate.
const serviceTimes = 3

// broken returns which of its promises the gate did not keep:
//
//   - More calls are answered in time with the gate than without, or all of them are.
//   - Whoever is let in is served at once: of 100 answers 99 take no longer than the longest wait at the gate and
//     three times the service time, which is the time that 99 of 100 calls spend in their handlers at most.
//   - There are never more calls inside than the gate's size.
func broken(ungated, gated Side, c Config) []string {
	var list []string
	if gated.AnsweredInTime <= ungated.AnsweredInTime && gated.AnsweredInTime < gated.Offered {
		list = append(list, fmt.Sprintf("answered in time: %d with the gate is not more than %d without",
			gated.AnsweredInTime, ungated.AnsweredInTime))
	}
	if bound := ms(server.MaxWait) + serviceTimes*gated.HeldP99Ms; gated.P99Ms > bound {
		list = append(list, fmt.Sprintf("p99 of the answers: %.1f ms is more than %.1f ms (%s wait + %d x %.1f ms in the handler)",
			gated.P99Ms, bound, server.MaxWait, serviceTimes, gated.HeldP99Ms))
	}
	if int64(gated.MaxInFlight) > c.Gate {
		list = append(list, fmt.Sprintf("in flight: %d calls behind a gate of %d", gated.MaxInFlight, c.Gate))
	}
	return list
}
