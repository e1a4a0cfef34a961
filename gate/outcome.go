package gate

import "time"

// outcome packs what a lease says about the decision into one word, so that a
// Lease has four: the compiler keeps larger structs in memory, and each return and
// copy of one waits for the store before it. That took longer than all else that an
// admission does beside its lock.
//
// From below: the decision (3 bits), the reason (5), dry run (1), which gate of the
// chain decided (7; from 1, and 0 outside of a chain), the wait in nanoseconds (48).
type outcome uint64

const (
	outcomeReason = 3
	outcomeDryRun = outcome(1) << 8
	outcomeGate   = 9
	outcomeWaited = 16

	maxReason = 1<<(8-outcomeReason) - 1
	maxChain  = 1<<(outcomeWaited-outcomeGate) - 1
	maxWaited = 1<<(64-outcomeWaited) - 1
)

// accepted is the outcome of most calls.
const accepted = outcome(Accepted)

func newOutcome(d Decision, r Reason, dryRun bool) outcome {
	o := outcome(d) | outcome(r)<<outcomeReason
	if dryRun {
		o |= outcomeDryRun
	}
	return o
}

func (o outcome) withGate(i int) outcome { return o | outcome(i)<<outcomeGate }

func (o outcome) withWaited(d time.Duration) outcome {
	return o&(1<<outcomeWaited-1) | outcome(min(max(d, 0), maxWaited))<<outcomeWaited
}

func (o outcome) decision() Decision    { return Decision(o & (1<<outcomeReason - 1)) }
func (o outcome) reason() Reason        { return Reason(o >> outcomeReason & maxReason) }
func (o outcome) gate() int             { return int(o >> outcomeGate & maxChain) }
func (o outcome) waited() time.Duration { return time.Duration(o >> outcomeWaited) }
