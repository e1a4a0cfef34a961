package gate

import (
	"context"
	"time"
)

// minWait is the shortest share of a deadline that is worth waiting for: timers
// of an idle process are not more exact than that.
const minWait = time.Millisecond

// queueUp puts the arrival into the queue, if the deadline allows it and the gate
// has not changed meanwhile. It reports whether the arrival stands there.
//
//go:noinline
func (g *Gate) queueUp(call *Call, a *arrival) bool {
	done := false
	defer func() {
		if !done { // an observer of another call has ended the goroutine
			g.giveUp(a)
		}
	}()
	// The context is asked before there is a slot to lose.
	if a.err = g.askDeadline(a); a.err != nil {
		a.verdict, a.observed = abandoned, a.interest == ObserveAll
		done = true
		return false
	}
	a.gone = a.ctx.Done()
	a.selfWait = holds(a.ctx, g)
	a.now = g.moment()

	g.mu.Lock()
	g.decideLocked(call, a)
	g.unlock()
	done = true
	return a.verdict == queued
}

// askDeadline finds out how long the arrival may wait: the gate's maximum, cut to the
// share of the deadline. The lock is not held, since a context may be anybody's code.
func (g *Gate) askDeadline(a *arrival) error {
	set := g.set()
	a.asked = true
	a.wait.most = min(a.wait.terms.longestWait(set), a.wait.most)
	deadline, ok := a.ctx.Deadline()
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
	case share >= float64(a.wait.most):
	case share < float64(minWait):
		a.short = ReasonDeadline
	default:
		a.wait.most = time.Duration(share)
	}
	return nil
}

// park waits until the arrival is admitted or rejected, or the caller has gone. The
// verdict is final then.
func (g *Gate) park(call *Call, a *arrival) {
	done := false
	defer func() {
		if !done { // the context or the listener has panicked
			g.giveUp(a)
		}
	}()
	a.tellWait(call.Caller)
	if a.gone == nil {
		<-a.slot.ready // at the end of the wait at the latest
		a.woken = true
	} else {
		select {
		case <-a.slot.ready:
			a.woken = true
		case <-a.gone:
		}
	}
	a.err = a.ctx.Err()
	g.endWait(a)
	done = true
}

//go:noinline
func (g *Gate) endWait(a *arrival) {
	end := g.moment()
	g.mu.Lock()
	g.endWaitLocked(a, end)
	g.unlock()
}

// endWaitLocked finds out what came of the wait. Between the end of the wait and
// the lock another goroutine may have admitted or rejected the call after all: only
// the state counts.
func (g *Gate) endWaitLocked(a *arrival, end moment) {
	s := a.slot
	s.waited = time.Duration(end.at - a.now.at)
	s.since = end.at
	a.waited = s.waited
	a.receiveLocked()
	switch {
	case a.err != nil:
		a.verdict = abandoned
		g.leaveLocked(a)
	case s.state == slotHolding:
		a.verdict = admitted
		g.watchHoldLocked(s, end)
		g.leaseLocked(s, a)
	default:
		reason := s.reason
		if s.state == slotWaiting {
			reason = ReasonWaitTimeout // of a context that is done and has no error
		}
		g.leaveLocked(a)
		g.rejectLocked(a, reason)
	}
}

// receiveLocked receives the message that ends a wait, if it was sent.
func (a *arrival) receiveLocked() {
	if a.slot.state != slotWaiting && !a.woken {
		<-a.slot.ready // sent under the lock, so it is there
		a.woken = true
	}
}

// leaveLocked ends a wait that leads to no lease, and frees the slot. If the call
// was admitted at the same time, its units are handed on.
func (g *Gate) leaveLocked(a *arrival) {
	s := a.slot
	a.slot = nil
	switch s.state {
	case slotHolding:
		g.inFlight -= s.cost
		g.totals.unaccepted++
	case slotWaiting:
		g.queue.remove(s)
	case slotRefused:
		g.turnedAway--
	}
	g.unbookLocked(s)
	g.freeSlotLocked(s)
	g.dispatchLocked() // the call in front may fit now
}

// makeWayLocked displaces a call of lower priority if the queue is full.
func (g *Gate) makeWayLocked(level int) {
	if g.queue.total >= g.maxWaitingLocked() {
		g.turnAwayLocked(g.queue.lastBelow(level), ReasonQueueFull)
	}
}

// enqueueLocked puts the arrival into the queue.
func (g *Gate) enqueueLocked(s *slot, a *arrival) {
	if s.ready == nil || !s.era.Same(a.now.era) {
		s.ready, s.era = make(chan struct{}, 1), a.now.era
	}
	a.slot = s
	g.standInLineLocked(s, a)
}

// standInLineLocked makes a slot wait for as long as its call may.
func (g *Gate) standInLineLocked(s *slot, a *arrival) {
	s.state = slotWaiting
	s.selfWait = a.selfWait
	g.bookKeyLocked(s)
	g.queue.push(s, until(a.now.at, a.wait.most))
	g.watchWaitsLocked(a.now)
}

// turnAwayLocked takes a waiting call out of the queue and tells its goroutine that
// it was rejected.
func (g *Gate) turnAwayLocked(s *slot, reason Reason) {
	g.queue.remove(s)
	if s.serial != 0 {
		g.settleLocked(s, reason)
		return
	}
	s.state = slotRefused
	s.reason = reason
	g.turnedAway++
	s.ready <- struct{}{}
}

// dispatchLocked hands free units to the calls whose turn it is.
//
// Only the front of the queue is looked at: small calls behind a big one do not
// overtake it, so it is not starved. It holds them up for its own wait at most.
func (g *Gate) dispatchLocked() {
	for {
		s := g.queue.front()
		if s == nil || !g.fitsLocked(s.level, s.want) {
			break
		}
		g.queue.remove(s)
		if s.serial != 0 {
			g.settleLocked(s, 0)
			continue
		}
		g.holdLocked(s, g.clampLocked(s.level, s.want))
		s.since = 0 // its goroutine says when it wakes
		s.ready <- struct{}{}
	}
	if g.draining && g.emptyLocked() {
		g.endDrainLocked(nil)
	}
}
