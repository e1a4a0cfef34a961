package gate

import (
	"context"
	"errors"
	"math"
	"time"
)

// verdict is what a gate makes of an arrival.
type verdict uint8

const (
	admitted     verdict = iota + 1
	mayWait              // if its deadline leaves time
	queued               // stands in the queue
	rejected             //
	abandoned            // its context has ended
	failed               // the gate was not made by New
	passed               // let through by a dry run that would have rejected it
	passedInLine         // let through by a dry run that would have made it wait
)

// minWait is the shortest share of a deadline that is worth waiting for: timers
// of an idle process are not more exact than that.
const minWait = time.Millisecond

var errZeroGate = errors.New("gate: a Gate that was not made by New admits no call")

// decideLocked decides about an arrival, and does it: the call has a lease then,
// stands in the queue or is counted as rejected. But a call that could wait needs
// its deadline first, which must be asked for without the lock. Nothing has
// changed then, and decideLocked is called again once the arrival was asked.
func (g *Gate) decideLocked(ctx context.Context, call *Call, a *arrival) {
	if g.settings.Load() == nil {
		a.verdict, a.err = failed, errZeroGate
		return
	}
	v, reason := g.judgeLocked(call, a)
	if v == mayWait && a.asked {
		if v = queued; a.short != 0 {
			v, reason = rejected, a.short
		}
	}
	switch {
	case v == rejected && g.dryRun:
		v = passed
	case v == queued && g.dryRun:
		v = passedInLine
	}
	a.verdict = v
	if v != mayWait {
		a.observed = a.interest == ObserveAll || a.interest == ObserveTrouble && v != admitted
	}
	switch v {
	case admitted:
		g.admitLocked(ctx, call, a)
	case queued:
		g.enqueueLocked(ctx, call, a)
	case rejected:
		g.rejectLocked(a, reason)
	case passed:
		g.passLocked(ctx, call, a, reason)
	case passedInLine:
		g.passInLineLocked(ctx, call, a)
	}
}

// judgeLocked says whether an arrival is admitted, may wait or is rejected. It
// changes nothing.
func (g *Gate) judgeLocked(call *Call, a *arrival) (verdict, Reason) {
	maxWait := g.set().maxWait
	budget := min(maxWait, a.wait.most)
	if a.asked {
		budget = a.budget
	}
	switch {
	case g.draining:
		return rejected, ReasonDraining
	case g.overKeyCapLocked(call.Key, a):
		return rejected, ReasonKeyLimit
	case !g.queue.waitsAtOrAbove(a.level) && g.fitsLocked(a.level, a.want):
		return admitted, 0
	case budget <= 0 && a.wait.spent > 0 && maxWait > 0: // at the gates before this one
		return rejected, ReasonWaitTimeout
	case budget <= 0 || g.maxWaitingLocked() == 0:
		return rejected, ReasonLimit
	case g.queue.total >= g.maxWaitingLocked() && g.queue.lastBelow(a.level) == nil:
		return rejected, ReasonQueueFull
	default:
		return mayWait, 0
	}
}

// fitsLocked reports whether a call of the given level may take its units now.
func (g *Gate) fitsLocked(level int, want int64) bool {
	return g.clampLocked(level, want) <= g.room[level]-g.inFlight
}

// clampLocked is how many units a call that wants so many takes: a call that wants
// more than there are runs alone.
func (g *Gate) clampLocked(level int, want int64) int64 { return min(want, g.room[level]) }

// maxWaitingLocked is how many calls may wait. The default is as many as fit into the
// limit if they cost what the calls in flight do: then the queue is worth one service
// time, whatever a unit is.
func (g *Gate) maxWaitingLocked() int {
	if most := g.set().maxWaiting; most >= 0 {
		return most
	}
	waiting := g.queue.total - g.shadows
	return defaultMaxWaiting(g.limit, g.inFlight+g.passing, len(g.slots)-g.spare-waiting-g.turnedAway)
}

// defaultMaxWaiting is for a gate with the given limit at which so many calls have
// taken so many units.
func defaultMaxWaiting(limit, units int64, calls int) int {
	fit := float64(limit)
	if units > 0 && calls > 0 {
		fit = fit * float64(calls) / float64(units)
	}
	return int(min(max(fit, DefaultLeastWaiting), math.MaxInt32))
}

// admitLocked makes the arrival a holder.
func (g *Gate) admitLocked(ctx context.Context, call *Call, a *arrival) {
	s := g.takeSlotLocked(ctx, call, a)
	g.bookKeyLocked(s)
	g.holdLocked(s, g.clampLocked(a.level, a.want))
	g.noteLocked(s, a)
	g.watchHoldLocked(s, a.now)
	g.leaseLocked(s, a)
}

// leaseLocked gives the arrival the lease of a slot that has just become a holder.
func (g *Gate) leaseLocked(s *slot, a *arrival) {
	a.slot = s
	a.numbers = g.numbersLocked()
	a.waited = s.waited
	a.lease = Lease{
		slot: s, serial: s.serial, inFlight: a.numbers.inFlight,
		outcome: newOutcome(Accepted, 0, g.dryRun).withWaited(s.waited),
	}
}

// rejectLocked counts a rejection, and notes the numbers for the caller and the
// observers.
func (g *Gate) rejectLocked(a *arrival, reason Reason) {
	a.verdict = rejected
	a.reason = reason
	g.totals.rejected[reason]++
	a.numbers = g.numbersLocked()
	a.stretch = g.pressure.stretchLocked(g)
}

// askDeadline finds out how long the arrival may wait: the gate's maximum, cut to
// the share of the deadline. The lock is not held, since a context may be
// anybody's code.
func (g *Gate) askDeadline(ctx context.Context, a *arrival) error {
	set := g.set()
	a.asked = true
	a.budget = min(set.maxWait, a.wait.most)
	deadline, ok := ctx.Deadline()
	if !ok {
		return nil
	}
	left := time.Until(deadline)
	if left <= 0 {
		return context.DeadlineExceeded
	}
	// What was waited at the gates before counts, too: the share is of what was
	// left when the call came to the first of them. It stays a float64 until it
	// is known to be small: a deadline may be centuries away.
	spent := float64(a.wait.spent)
	share := set.deadlineShare*(float64(left)+spent) - spent
	switch {
	case share >= float64(a.budget):
	case share < float64(minWait):
		a.short = ReasonDeadline
	default:
		a.budget = time.Duration(share)
	}
	return nil
}
