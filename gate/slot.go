package gate

import (
	"context"
	"time"
)

// slotState is what a slot is in use for.
type slotState uint8

const (
	slotFree    slotState = iota
	slotWaiting           // in the queue
	slotHolding           // its units count against the limit
	slotPassing           // let through by a dry run; its units do not count
	slotRefused           // taken out of the queue by somebody else
)

// slot is one call at a gate: first perhaps in the queue, then as a holder. A
// gate reuses its slots, so there are as many as calls were ever at the gate at
// once. All fields are guarded by the gate's lock unless they say otherwise.
type slot struct {
	gate *Gate // never changes

	// serial is that of the lease on this slot, 0 if there is none. It is
	// unique within the gate and rises in the order of admission.
	serial uint64
	state  slotState
	reason Reason // of slotRefused, and of a dry run's decision

	call    Call
	level   int
	want    int64 // units asked for, at least 1
	cost    int64 // units taken: want, clamped to the room of its level
	keyCost int64 // units booked on call.Key

	// noted says that one of the following is set, which most slots of a gate
	// without observers never need.
	noted    bool
	ctx      context.Context // kept for observers and call.Caller
	observed bool
	reported bool  // as held too long
	since    int64 // when it began to wait, then to hold; 0 if not known
	waited   time.Duration

	// outer is the lease on the gate in front of this one in a chain, which
	// is given back after this one. Only the goroutine that acquires writes
	// it, before the lease on this slot is known to anybody.
	outer Lease

	prev, next *slot // in the queue; next also in the free list
	end        int   // where it is in the queue's ends

	// ready wakes the waiting goroutine; it has room for the one message of
	// a wait, so that the sender never blocks. It is made when the slot first
	// waits.
	ready chan struct{}
}

// takeSlot returns a free slot with the call filled in. The lock is held.
func (g *Gate) takeSlot(call *Call, level int, want int64) *slot {
	s := g.free
	if s == nil {
		s = &slot{gate: g}
		g.slots = append(g.slots, s)
	} else {
		g.free = s.next
	}
	s.call = *call
	s.level = level
	s.want = want
	s.next = nil
	return s
}

// freeSlot makes a slot available again. The lock is held. The strings of the
// call stay until the slot's next use: clearing them would cost more than the
// bounded memory is worth.
func (g *Gate) freeSlot(s *slot) {
	if s.noted {
		s.noted = false
		s.ctx = nil
		s.call.Caller = nil
		s.observed = false
		s.reported = false
		s.since = 0
		s.waited = 0
	}
	s.serial = 0
	s.state = slotFree
	s.next = g.free
	g.free = s
}

// note keeps what is only needed if somebody asks about the call: an observer,
// a Snapshot, the scan for leases held too long. The lock is held.
func (g *Gate) note(s *slot, ctx context.Context, now int64, observed bool) {
	s.noted = true
	s.ctx = ctx
	s.since = now
	s.observed = observed
}

// hold makes s a holder of cost units. The lock is held.
func (g *Gate) hold(s *slot, cost int64) {
	g.serial++
	s.serial = g.serial
	s.state = slotHolding
	s.cost = cost
	g.inFlight += cost
}
