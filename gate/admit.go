package gate

import (
	"context"
	"time"
)

// arrival is a call that was not admitted on the fast path.
type arrival struct {
	call     *Call
	level    int
	want     int64
	now      int64 // 0 if the clock was not read yet
	observed bool
}

// verdict is what can be said of an arrival without waiting.
type verdict uint8

const (
	admit verdict = iota
	queueUp
	refuse
)

// minWait is the shortest share of a deadline that is worth waiting for: timers
// of an idle process are not more exact than that.
const minWait = time.Millisecond

// acquireSlow finishes what acquire began. It is called with the lock held and
// releases it.
func (g *Gate) acquireSlow(ctx context.Context, a *arrival, w wait) (Lease, error) {
	v, reason := g.judge(a, w)
	if v == queueUp {
		// The deadline is asked for without the lock: a context may be
		// anybody's code. Things may have changed after that.
		g.mu.Unlock()
		var short Reason
		var err error
		w, short, err = g.bound(ctx, w)
		if err != nil {
			return Lease{}, g.abandon(ctx, a.call, 0, a.observed, err)
		}
		a.now = g.now()
		g.mu.Lock()
		if v, reason = g.judge(a, w); v == queueUp && short != 0 {
			v, reason = refuse, short
		}
	}
	if v != admit && !a.observed {
		a.observed = g.pressureObserved()
	}
	switch {
	case v == admit:
		return g.admit(ctx, a)
	case v == queueUp && g.dryRun:
		return g.passWaiting(ctx, a, w.budget)
	case v == queueUp:
		return g.await(ctx, g.enqueue(ctx, a, w.budget), w.spent)
	case g.dryRun:
		return g.passRefused(ctx, a, reason)
	default:
		return Lease{}, g.refuse(ctx, a, reason, 0, w.spent)
	}
}

// judge decides about an arrival. The lock is held; nothing is changed.
func (g *Gate) judge(a *arrival, w wait) (verdict, Reason) {
	switch {
	case g.draining:
		return refuse, ReasonDraining
	case g.overKeyCap(a):
		return refuse, ReasonKeyLimit
	case !g.queue.waitsAtOrAbove(a.level) && g.fits(a.level, a.want):
		return admit, 0
	case w.budget <= 0 && w.spent > 0 && g.config.maxWait > 0: // at the gates before this one
		return refuse, ReasonWaitTimeout
	case w.budget <= 0 || g.maxWaiting() == 0:
		return refuse, ReasonLimit
	case g.queue.total >= g.maxWaiting() && g.queue.lastBelow(a.level) == nil:
		return refuse, ReasonQueueFull
	default:
		return queueUp, 0
	}
}

// fits reports whether a call of the given level may take its units now.
func (g *Gate) fits(level int, want int64) bool {
	return g.clamp(level, want) <= g.room[level]-g.inFlight
}

// clamp is how many units a call that wants so many takes: a call that wants
// more than there are runs alone.
func (g *Gate) clamp(level int, want int64) int64 { return min(want, g.room[level]) }

// maxWaiting is how many calls may wait.
func (g *Gate) maxWaiting() int {
	switch {
	case g.config.maxWaiting >= 0:
		return g.config.maxWaiting
	case g.config.cost != nil: // the limit does not count calls
		return DefaultMaxWaitingWithCost
	default:
		return int(g.limit)
	}
}

// bound cuts the budget to the share of the deadline that may be waited. The
// reason is set when that leaves too little to wait at all; the error is that
// of a deadline that has passed.
func (g *Gate) bound(ctx context.Context, w wait) (wait, Reason, error) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return w, 0, nil
	}
	left := time.Until(deadline)
	if left <= 0 {
		return w, 0, context.DeadlineExceeded
	}
	// What was waited at the gates before counts too: the share is of what
	// was left when the call came to the first of them.
	// It stays a float64 until it is known to be small: a deadline may be
	// centuries away.
	spent := float64(w.spent)
	share := g.config.deadlineShare*(float64(left)+spent) - spent
	switch {
	case share >= float64(w.budget):
		return w, 0, nil
	case share < float64(minWait):
		return w, ReasonDeadline, nil
	}
	w.budget = time.Duration(share)
	return w, 0, nil
}

// admit makes the arrival a holder. It is called with the lock held and
// releases it.
func (g *Gate) admit(ctx context.Context, a *arrival) (Lease, error) {
	s := g.takeSlot(a.call, a.level, a.want)
	g.bookKey(s)
	g.hold(s, g.clamp(a.level, a.want))
	g.note(s, ctx, a.now, a.observed)
	g.watchHold(g.config.maxHold)
	return g.accepted(ctx, s)
}

// accepted makes the lease of a call that has just become a holder, and tells
// the observers. It is called with the lock held and releases it.
func (g *Gate) accepted(ctx context.Context, s *slot) (Lease, error) {
	lease := Lease{
		slot: s, serial: s.serial, gate: g,
		inFlight: g.inFlight + g.passing, waited: s.waited,
		outcome: newOutcome(Accepted, 0, g.dryRun),
	}
	if s.observed {
		g.tellAccepted(ctx, s, lease)
	} else {
		g.unlock()
	}
	return lease, nil
}

// tellAccepted is apart from accepted, and tellRefused from refuse, because an
// Event is large: the stack of a call that nobody observes need not grow for it.
func (g *Gate) tellAccepted(ctx context.Context, s *slot, lease Lease) {
	e := g.event(EventDecision, &s.call)
	e.Decision, e.Waited = Accepted, s.waited
	g.unlock()
	g.emitHeld(ctx, &e, lease)
}

// refuse turns the call away, which has waited here, and before that for spent at
// the gates in front of this one. It is called with the lock held and releases
// it.
func (g *Gate) refuse(ctx context.Context, a *arrival, reason Reason, waited, spent time.Duration) error {
	g.totals.rejected[reason]++
	inFlight, limit, waiting := g.inFlight+g.passing, g.limit, g.queue.total
	stretch := g.pressure.stretch(g)
	g.unlock()

	r := &Rejection{
		Gate:       g.name,
		Decision:   reason.decision(),
		Reason:     reason,
		Refusal:    g.config.refusal,
		Waited:     spent + waited,
		InFlight:   inFlight,
		Limit:      limit,
		RetryDelay: g.config.drawDelay(stretch),
		RequestID:  a.call.requestID(ctx),
	}
	if reason == ReasonDraining {
		r.Refusal = ServiceUnavailable
	}
	if r.RequestID == "" {
		r.RequestID = newRequestID()
	}
	if a.observed {
		g.tellRefused(ctx, a.call, r, waited, waiting)
	}
	return r
}

func (g *Gate) tellRefused(ctx context.Context, call *Call, r *Rejection, waited time.Duration, waiting int) {
	e := Event{
		Kind: EventDecision, Gate: g.name, Call: *call,
		Decision: r.Decision, Reason: r.Reason, Rejection: r,
		Waited: waited, InFlight: r.InFlight, Waiting: waiting, Limit: r.Limit,
	}
	e.Call.RequestID = r.RequestID
	g.emit(ctx, &e)
}

// abandon counts a call whose context ended before it was admitted, and returns
// err.
func (g *Gate) abandon(ctx context.Context, call *Call, waited time.Duration, observed bool, err error) error {
	g.mu.Lock()
	g.totals.abandoned++
	if !observed {
		g.mu.Unlock()
		return err
	}
	e := g.event(EventDecision, call)
	g.mu.Unlock()
	e.Decision, e.Waited = Abandoned, waited
	g.emit(ctx, &e)
	return err
}
