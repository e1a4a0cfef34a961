package gate

import (
	"math"
	"time"
	"weak"
)

// One timer ends the waits of all calls at a gate. It is set for the wait that
// ends first, or for an earlier time: when it finds nothing to end, because that
// call was admitted long ago, it is set anew. So a call that waits, and is
// admitted in time, as most are, neither starts a timer nor stops one.

// watchWaits sets the timer if a wait ends before the time that it is set for. The
// lock is held.
func (g *Gate) watchWaits() {
	if len(g.queue.ends) == 0 {
		return
	}
	first := g.queue.ends[0].until
	if g.expiry != 0 && g.expiry <= first {
		return
	}
	g.expiry = first
	left := time.Duration(first - g.now())
	if g.expirer == nil {
		g.expirer = time.AfterFunc(left, expirerOf(g))
	} else {
		g.expirer.Reset(left)
	}
}

// expirerOf is what the timer calls. It knows the gate weakly: the timer stays set
// when the calls that it was set for are through, and a gate that nobody uses any
// more must not be kept for as long as calls might have waited there. Who waits has
// the gate.
func expirerOf(g *Gate) func() {
	known := weak.Make(g)
	return func() {
		if g := known.Value(); g != nil {
			g.expire()
		}
	}
}

// until is when a wait that begins now and has the given budget ends. It does not
// overflow: the end of an endless wait comes after all others.
func until(now int64, budget time.Duration) int64 {
	if int64(budget) > math.MaxInt64-now {
		return math.MaxInt64
	}
	return now + int64(budget)
}

// expire ends the waits whose time is up.
func (g *Gate) expire() {
	g.mu.Lock()
	defer g.unlock()
	g.expiry = 0
	now := g.now()
	for len(g.queue.ends) > 0 && g.queue.ends[0].until <= now {
		g.turnAway(g.queue.ends[0].slot, ReasonWaitTimeout)
	}
	g.dispatch() // whoever stands in front now may fit
	g.watchWaits()
}

// ends is a binary heap: the wait of the slot at 0 ends first. Waits mostly end in
// the order in which they began, so that a push rarely moves anything; but their
// lengths are up to the deadlines of clients, and no order of these makes a push or
// remove take longer than O(log n).
type ends []end

type end struct {
	until int64 // as Gate.now says it
	slot  *slot
}

func (h *ends) push(s *slot, until int64) {
	*h = append(*h, end{until, s})
	h.up(len(*h) - 1)
}

func (h *ends) remove(s *slot) {
	i, last := s.end, len(*h)-1
	moved := (*h)[last]
	(*h)[last] = end{}
	*h = (*h)[:last]
	if i == last {
		return
	}
	(*h)[i] = moved
	h.down(i)
	h.up(moved.slot.end)
}

// up moves the end at i to the front until the one before it is not later.
func (h ends) up(i int) {
	moving := h[i]
	for i > 0 {
		parent := (i - 1) / 2
		if h[parent].until <= moving.until {
			break
		}
		h.put(i, h[parent])
		i = parent
	}
	h.put(i, moving)
}

// down moves the end at i to the back until those after it are not earlier.
func (h ends) down(i int) {
	moving := h[i]
	for {
		child := 2*i + 1
		if child >= len(h) {
			break
		}
		if right := child + 1; right < len(h) && h[right].until < h[child].until {
			child = right
		}
		if h[child].until >= moving.until {
			break
		}
		h.put(i, h[child])
		i = child
	}
	h.put(i, moving)
}

func (h ends) put(i int, e end) {
	h[i] = e
	e.slot.end = i
}
