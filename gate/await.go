package gate

import (
	"context"
	"time"
)

// enqueue puts the arrival into the queue for the time that it may wait, in place
// of a call of lower priority if the queue is full. The lock is held.
func (g *Gate) enqueue(ctx context.Context, a *arrival, budget time.Duration) *slot {
	if g.queue.total >= g.maxWaiting() {
		g.turnAway(g.queue.lastBelow(a.level), ReasonQueueFull)
	}
	s := g.takeSlot(a.call, a.level, a.want)
	g.note(s, ctx, a.now, a.observed)
	g.standInLine(s, until(a.now, budget))
	return s
}

// standInLine makes s wait until the given time at most. The lock is held.
func (g *Gate) standInLine(s *slot, until int64) {
	s.state = slotWaiting
	g.bookKey(s)
	g.queue.push(s, until)
	g.watchWaits()
}

// await waits until s is admitted or refused, or the caller has gone, after spent
// at the gates before this one. It is called with the lock held and releases it.
func (g *Gate) await(ctx context.Context, s *slot, spent time.Duration) (Lease, error) {
	if s.ready == nil {
		s.ready = make(chan struct{}, 1)
	}
	start := s.since
	g.unlockOr(func() { g.forsake(ctx, s, spent) })

	woken := true
	if gone := ctx.Done(); gone == nil {
		<-s.ready // at the end of the wait at the latest
	} else {
		select {
		case <-s.ready:
		case <-gone:
			woken = false
		}
	}
	err := ctx.Err()
	end := g.now()

	// Between the select and this lock somebody may have granted or refused
	// the call after all: from here on only the state counts.
	g.mu.Lock()
	state := s.state
	if state != slotWaiting && !woken {
		<-s.ready // sent under the lock, so it is there
	}
	s.waited = time.Duration(end - start)
	s.since = end
	if state == slotHolding && err == nil {
		g.watchHold(g.config.maxHold)
		return g.accepted(ctx, s)
	}
	return Lease{}, g.leave(ctx, s, err, spent)
}

// forsake ends the wait of a goroutine that has ended before it could wait.
func (g *Gate) forsake(ctx context.Context, s *slot, spent time.Duration) {
	g.mu.Lock()
	if s.state != slotWaiting {
		<-s.ready
	}
	_ = g.leave(ctx, s, context.Canceled, spent)
}

// leave ends a wait that did not lead to a lease: the call was refused, or its
// context has ended with err. It is called with the lock held and releases it.
func (g *Gate) leave(ctx context.Context, s *slot, err error, spent time.Duration) error {
	reason := s.reason
	switch s.state {
	case slotHolding:
		// Granted, and gone at the same time: the slot is handed on, so
		// that an ended context never gets one.
		g.inFlight -= s.cost
		g.totals.unaccepted++
	case slotWaiting:
		reason = ReasonWaitTimeout // of a context that is done and has no error
		g.queue.remove(s)
	}
	g.unbookKey(s)
	call, observed, waited := s.call, s.observed, s.waited
	g.freeSlot(s)
	g.dispatch() // whoever stands in front now may fit
	if err != nil {
		g.unlock()
		return g.abandon(ctx, &call, waited, observed, err)
	}
	return g.refuse(ctx, &arrival{call: &call, observed: observed}, reason, waited, spent)
}

// turnAway takes a waiting call out of the queue and tells its goroutine that it
// was refused. The lock is held.
func (g *Gate) turnAway(s *slot, reason Reason) {
	g.queue.remove(s)
	if s.serial != 0 {
		g.settle(s, reason)
		return
	}
	s.state = slotRefused
	s.reason = reason
	s.ready <- struct{}{}
}

// dispatch hands free units to the calls whose turn it is. The lock is held.
//
// Only the front of the queue is looked at: a big call there is not starved by
// small ones behind it, which it holds up for no longer than its own wait.
func (g *Gate) dispatch() {
	for {
		s := g.queue.front()
		if s == nil || !g.fits(s.level, s.want) {
			break
		}
		g.queue.remove(s)
		if s.serial != 0 {
			g.settle(s, 0)
			continue
		}
		g.hold(s, g.clamp(s.level, s.want))
		s.since = 0 // its goroutine says when it wakes
		s.ready <- struct{}{}
	}
	if g.idle != nil && g.inFlight+g.passing == 0 {
		close(g.idle)
		g.idle = nil
	}
}
