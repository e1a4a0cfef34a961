package gate

import (
	"errors"
	"math"
)

var errZeroGate = errors.New("gate: a Gate that was not made by New admits no call")

// decideLocked decides about an arrival, and does it: the call has a lease then,
// stands in the queue or is counted as rejected. But a call that could wait needs
// its deadline first, which must be asked for without the lock. Nothing has
// changed then, and decideLocked is called again once the arrival was asked.
func (g *Gate) decideLocked(call *Call, a *arrival) {
	if g.settings.Load() == nil {
		a.verdict, a.err = failed, errZeroGate
		return
	}
	a.verdict, a.reason = g.judgeLocked(call, a)
	if a.verdict == mayWait {
		return
	}
	a.observed = a.interest == ObserveAll || a.interest == ObserveTrouble && a.verdict != admitted
	if a.verdict == rejected {
		g.rejectLocked(a, a.reason)
		return
	}
	if a.verdict != admitted && a.verdict != passed {
		g.makeWayLocked(a.level)
	}
	s := g.takeSlotLocked(call, a)
	switch a.verdict {
	case admitted:
		g.admitLocked(s, a)
	case queued:
		g.enqueueLocked(s, a)
	case passed:
		g.passLocked(s, a)
	case passedInLine:
		g.passInLineLocked(s, a)
	}
}

// judgeLocked returns the verdict, and the reason of a rejection. It changes nothing.
func (g *Gate) judgeLocked(call *Call, a *arrival) (verdict, Reason) {
	v, reason := g.judgeByRoomLocked(call.Key, a.ownCap, a.level, a.want, a.wait)
	if v == mayWait && a.asked {
		if v = queued; a.short != 0 {
			v, reason = rejected, a.short
		}
	}
	switch {
	case !g.dryRun:
	case v == rejected:
		v = passed
	case v == queued:
		v = passedInLine
	}
	return v, reason
}

// judgeByRoomLocked says whether an arrival is admitted, may wait or is rejected.
func (g *Gate) judgeByRoomLocked(key string, ownCap int64, level int, want int64, w wait) (verdict, Reason) {
	switch {
	case g.draining:
		return rejected, ReasonDraining
	case g.overKeyCapLocked(key, ownCap, level, want):
		return rejected, ReasonKeyLimit
	case !g.queue.waitsAtOrAbove(level) && g.fitsLocked(level, want):
		return admitted, 0
	}
	switch maxWait := w.terms.longestWait(g.set()); {
	case maxWait > 0 && w.most <= 0 && w.spent > 0: // at the gates before this one
		return rejected, ReasonWaitTimeout
	case maxWait <= 0 || w.most <= 0:
		return rejected, ReasonLimit
	}
	switch most := g.maxWaitingLocked(); {
	case most == 0:
		return rejected, ReasonLimit
	case g.queue.total >= most && g.queue.lastBelow(level) == nil:
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
	if units > 0 { // then there are calls
		fit = fit * float64(calls) / float64(units)
	}
	return int(min(max(fit, DefaultLeastWaiting), math.MaxInt32))
}

// admitLocked makes the arrival a holder.
func (g *Gate) admitLocked(s *slot, a *arrival) {
	g.bookKeyLocked(s)
	g.holdLocked(s, g.clampLocked(a.level, a.want))
	g.watchHoldLocked(s, a.now)
	g.leaseLocked(s, a)
}

// leaseLocked gives the arrival the lease of a slot that has just become a holder.
func (g *Gate) leaseLocked(s *slot, a *arrival) {
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
