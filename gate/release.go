package gate

import (
	"context"
	"time"
)

// release gives back the lease with the given serial, if it has not been given
// back yet.
func (g *Gate) release(s *slot, serial uint64) {
	g.mu.Lock()
	switch {
	case s.serial != serial:
		g.mu.Unlock()
	case s.observed || s.state != slotHolding || s.outer.slot != nil || s.keyCost != 0 ||
		g.queue.total != 0 || g.draining:
		g.releaseSlow(s)
	default:
		g.inFlight -= s.cost
		g.freeSlot(s)
		g.mu.Unlock()
	}
}

// releaseSlow is release for a slot that somebody has an interest in. It is
// called with the lock held and releases it.
func (g *Gate) releaseSlow(s *slot) {
	switch s.state {
	case slotHolding:
		g.inFlight -= s.cost
	case slotWaiting: // let through by a dry run, and done before its turn came
		g.queue.remove(s)
		g.settle(s, 0)
		g.inFlight -= s.cost
	case slotPassing:
		g.passing -= s.cost
	}
	g.unbookKey(s)
	outer := s.outer
	s.outer = Lease{}
	ctx, observed, since := s.ctx, s.observed, s.since
	var e Event
	if observed {
		e = g.event(EventRelease, &s.call)
		e.Waited = s.waited
	}
	g.freeSlot(s)
	g.dispatch()
	// Deferred, so that not even an observer that ends the goroutine keeps
	// the gates in front of this one from getting their units back.
	defer outer.Release()
	g.unlock()
	if observed {
		e.Held = time.Duration(g.now() - since)
		g.emit(ctx, &e)
	}
}

// unlock releases the lock, then tells what a dry run decided under it.
func (g *Gate) unlock() {
	if len(g.deferred) == 0 {
		g.mu.Unlock()
		return
	}
	deferred := g.deferred
	g.deferred = nil
	g.mu.Unlock()
	for _, d := range deferred {
		g.emit(d.ctx, &d.event)
	}
}

// unlockOr is unlock for a goroutine that has a slot to look after: giveUp does so
// if an observer ends the goroutine.
func (g *Gate) unlockOr(giveUp func()) {
	if len(g.deferred) == 0 {
		g.mu.Unlock()
		return
	}
	returned := false
	defer func() {
		if !returned {
			giveUp()
		}
	}()
	g.unlock()
	returned = true
}

// deferredEvent is an event that came up while the lock was held, for the call
// that ctx belongs to.
type deferredEvent struct {
	ctx   context.Context
	event Event
}

// event begins an event with the gate's numbers of this moment. The lock is
// held.
func (g *Gate) event(kind EventKind, call *Call) Event {
	return Event{
		Kind: kind, Gate: g.name, Call: *call, DryRun: g.dryRun,
		InFlight: g.inFlight + g.passing, Waiting: g.queue.total, Limit: g.limit,
	}
}

// emitHeld tells of a decision that gave a lease. An observer that ends the
// goroutine keeps the caller from ever seeing the lease, so it is given back.
func (g *Gate) emitHeld(ctx context.Context, e *Event, lease Lease) {
	returned := false
	defer func() {
		if !returned {
			lease.Release()
		}
	}()
	g.emit(ctx, e)
	returned = true
}
