package rush

import (
	"fmt"

	"github.com/rpcgate/rpcgate/demo/server"
)

// Promise is something that the gate is there for.
type Promise struct {
	Kept bool
	Text string // what was promised and what came of it
}

// serviceTimes is how many times the service time an answer may take, apart from the wait at the gate.
const serviceTimes = 3

// promises returns what the gate promised:
//
//   - More calls are answered in time with the gate than without, or all of them are.
//   - Whoever is let in is served at once: of 100 answers 99 take no longer than the longest wait at the gate and
//     three times the service time, which is what 99 of 100 calls need at most in their handlers.
//   - There are never more calls inside than the gate's size.
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
