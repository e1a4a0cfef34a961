package gate

import (
	"context"
	"time"

	"github.com/rpcgate/rpcgate/gate/internal/era"
)

// slotState is what a slot is in use for.
type slotState uint8

const (
	slotFree    slotState = iota
	slotWaiting           // in the queue
	slotHolding           // its units count against the limit
	slotPassing           // let through by a dry run; its units do not count
	slotRefused           // taken out of the queue by another goroutine
)

// slot is one call at a gate: first perhaps in the queue, then as a holder. A
// gate reuses its slots. All fields are guarded by the gate's lock unless they say
// otherwise. Those that each call touches stand at the front, in one line of the
// cache.
type slot struct {
	gate *Gate // never changes

	// serial is the serial of the lease on this slot, 0 if there is none. It is
	// unique within the gate and rises in the order of admission.
	serial uint64
	cost   int64 // units taken: want, clamped to the room of its level
	state  slotState
	reason Reason // of slotRefused, and of a dry run's decision
	cut    Reason // why the call was cut off, or 0
	// noted says that forgetLocked has something to do, which is not so for slots
	// that were taken on the fast path.
	noted    bool
	observed bool
	selfWait bool // its context holds the gate already
	// isIdentified says that an observer has written the call's id down.
	isIdentified bool
	watched      bool // until it is held too long; see holdWatch
	booked       bool // keyCost or outer is set
	next         *slot
	prev         *slot           // both in the queue; next also in the list of free slots
	ctx          context.Context // of the call, for observers and to find out who calls

	call    Call
	level   int
	want    int64         // units asked for, at least 1
	keyCost int64         // units booked on call.Key
	since   int64         // when it began to wait, then to hold; 0 if not known
	waited  time.Duration // until it was admitted

	// outer is the lease on the gate in front of this one in a chain, which is
	// given back after this one. The goroutine that acquires writes it and chain
	// without the lock, before the lease on this slot is known to anybody. Other
	// code may read them only if it knows the serial of the lease.
	outer Lease
	chain *chain

	// The leases that were given before and after this one; see holdWatch.
	heldBefore, heldAfter *slot

	end   int // where it is in the queue's ends
	index int // where it is in the gate's slots

	// ready wakes the waiting goroutine. It has room for the one message of a
	// wait, so that the sender never blocks. It is made when the slot first waits
	// in an era.
	ready chan struct{}
	era   era.Era
}

// minSpare is how many free slots a gate keeps in any case. It drops what it needed
// once, at a peak: while more than that are free, and more than three of four.
const minSpare = 64

// takeSlotLocked returns a free slot with the call filled in, and with what only
// observers, a Snapshot and the scan for leases held too long need.
func (g *Gate) takeSlotLocked(call *Call, a *arrival) *slot {
	s := g.free
	if s == nil {
		s = &slot{gate: g, index: len(g.slots)}
		g.slots = append(g.slots, s)
	} else {
		g.free = s.next
		g.spare--
	}
	s.call = *call
	s.ctx = a.ctx
	s.level = a.level
	s.want = a.want
	s.noted = true
	s.since = a.now.at
	s.observed = a.observed
	return s
}

// freeSlotLocked makes a slot available again. Nothing of its call is kept.
func (g *Gate) freeSlotLocked(s *slot) {
	s.call = Call{}
	s.ctx = nil
	s.serial = 0
	s.state = slotFree
	s.next = g.free
	g.free = s
	g.spare++
	if s.noted {
		g.forgetLocked(s)
	}
	if g.spare > minSpare {
		g.shedSlotsLocked()
	}
}

// forgetLocked clears what only slots have that were not taken on the fast path.
func (g *Gate) forgetLocked(s *slot) {
	if s.watched {
		g.unwatchHoldLocked(s)
	}
	s.noted = false
	s.observed = false
	s.isIdentified = false
	s.cut = 0
	s.since = 0
	s.waited = 0
}

// shedSlotsLocked drops free slots until there are no more than the gate needs.
func (g *Gate) shedSlotsLocked() {
	for g.spare > minSpare && 4*g.spare > 3*len(g.slots) {
		s := g.free
		g.free, s.next = s.next, nil // a long lease may still point to it, but not to those behind it
		g.spare--
		last := len(g.slots) - 1
		moved := g.slots[last]
		g.slots[s.index] = moved
		moved.index = s.index
		g.slots[last] = nil
		g.slots = g.slots[:last]
	}
	g.slots = shrunk(g.slots)
}

// shrunk returns all, in an array that fits if it is much longer.
func shrunk[T any](all []T) []T {
	if cap(all) <= 4*max(len(all), minSpare) {
		return all
	}
	return append(make([]T, 0, 2*len(all)), all...)
}

// holdLocked makes s a holder of cost units.
func (g *Gate) holdLocked(s *slot, cost int64) {
	g.serial++
	s.serial = g.serial
	s.state = slotHolding
	s.cost = cost
	g.inFlight += cost
}
