package rush

import (
	"fmt"

	"github.com/rpcgate/rpcgate/demo/server"
)

// Promise is a promise of the gate.
type Promise struct {
	Kept bool
	Text string // what was promised and what was measured
}

// serviceTimes is how many times the service time an answer may take, after the wait at the gate.
const serviceTimes = 3

// promises returns the promises of the gate:
//
//   - More calls are answered in time with the gate than without it, or all calls are.
//   - Admitted calls are served at once: 99 % of the answers take at most the longest wait at the gate plus three times
//     the service time, which is the time that 99 % of the calls are in their handlers at most.
//   - There are never more calls in their handlers than the gate's limit.
func promises(ungated, gated Side, c Config) []Promise {
	wait := ms(server.MaxWait)
	bound := wait + serviceTimes*gated.HeldP99Ms
	return []Promise{
		{
			gated.AnsweredInTime > ungated.AnsweredInTime || gated.AnsweredInTime == gated.Offered,
			fmt.Sprintf("more answers in time: %d with the gate, %d without", gated.AnsweredInTime, ungated.AnsweredInTime),
		},
		{
			gated.P99Ms <= bound,
			fmt.Sprintf("p99: %.0f ms of at most %.0f ms wait + %d x %.0f ms service = %.0f ms",
				gated.P99Ms, wait, serviceTimes, gated.HeldP99Ms, bound),
		},
		{
			int64(gated.MaxInFlight) <= c.Gate,
			fmt.Sprintf("calls at once behind the gate: %d of at most %d", gated.MaxInFlight, c.Gate),
		},
	}
}
