package gate

import (
	"context"
	"time"
)

// release gives back the lease with the given serial, if it has not been given
// back yet.
func (s *slot) release(serial uint64) {
	g := s.gate
	g.mu.Lock()
	if s.serial != serial {
		g.mu.Unlock()
		return
	}
	if s.state == slotHolding && !s.observed && g.queue.total == 0 && !g.draining {
		g.inFlight -= s.cost
		if !s.booked {
			g.freeSlotLocked(s)
			g.mu.Unlock()
			return
		}
		outer := g.unbookLocked(s)
		g.freeSlotLocked(s)
		g.mu.Unlock()
		outer.Release()
		return
	}
	var r released
	g.releaseLocked(s, &r)
	g.mu.Unlock()
	r.conclude(g)
}

// released is what is left to do after a release, once the lock is free.
type released struct {
	outer    Lease           // on the gate in front, in a chain
	deferred []deferredEvent // about other calls

	// For the observers, if observed is set.
	observed bool
	ctx      context.Context
	call     Call
	numbers  numbers
	since    int64
	waited   time.Duration
	cut      Reason
}

// releaseLocked takes back the units of a slot, and hands them on.
func (g *Gate) releaseLocked(s *slot, r *released) {
	switch s.state {
	case slotHolding:
		g.inFlight -= s.cost
	case slotWaiting: // let through by a dry run, and done before its turn came
		g.queue.remove(s)
		g.settleLocked(s, 0)
		g.inFlight -= s.cost
	case slotPassing:
		g.passing -= s.cost
	}
	r.outer = g.unbookLocked(s)
	if s.observed {
		r.observed = true
		r.ctx, r.call, r.since, r.waited, r.cut = s.ctx, s.known(), s.since, s.waited, s.cut
		r.numbers = g.numbersLocked()
	}
	g.freeSlotLocked(s)
	g.dispatchLocked()
	r.deferred, g.deferred = g.deferred, nil
}

// conclude tells the observers, and gives back the lease on the gate in front.
func (r *released) conclude(g *Gate) {
	// Deferred, so that it happens even if an observer ends the goroutine.
	defer r.outer.Release()
	for i := range r.deferred {
		g.emit(r.deferred[i].ctx, &r.deferred[i].event)
	}
	if !r.observed {
		return
	}
	e := r.numbers.event(g, EventRelease, &r.call)
	e.Waited, e.Held, e.Reason = r.waited, time.Duration(g.now()-r.since), r.cut
	g.emit(r.ctx, &e)
}

// unbookLocked takes a slot off its key and out of its chain. It returns the lease on
// the gate in front.
func (g *Gate) unbookLocked(s *slot) (outer Lease) {
	g.unbookKeyLocked(s)
	outer = s.outer
	s.outer, s.chain, s.booked = Lease{}, nil, false
	return outer
}
