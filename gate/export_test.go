package gate

import "fmt"

// CheckInvariants finds what must never be seen of a gate's insides when its lock is free.
func CheckInvariants(g *Gate) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.deferred) != 0 {
		return fmt.Errorf("%d events were not told", len(g.deferred))
	}
	if err := g.checkFree(); err != nil {
		return err
	}
	if err := g.checkQueue(); err != nil {
		return err
	}
	if err := g.checkHolds(); err != nil {
		return err
	}
	return g.checkSums()
}

// CheckClean finds what is left in a gate that nobody uses any more.
func CheckClean(g *Gate) error {
	if err := CheckInvariants(g); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, s := range g.slots {
		if s.state != slotFree || s.serial != 0 || s.keyCost != 0 || s.ctx != nil || s.call != (Call{}) || s.booked || s.chain != nil {
			return fmt.Errorf("a slot of a clean gate is not free: %+v", *s)
		}
	}
	if g.inFlight != 0 || g.passing != 0 || g.queue.total != 0 || len(g.keys) != 0 {
		return fmt.Errorf("in flight %d, passing %d, waiting %d, keys %d: want a clean gate",
			g.inFlight, g.passing, g.queue.total, len(g.keys))
	}
	return nil
}

func (g *Gate) checkFree() error {
	free := map[*slot]bool{}
	for s := g.free; s != nil; s = s.next {
		if free[s] {
			return fmt.Errorf("the list of free slots is a ring")
		}
		free[s] = true
		if s.state != slotFree || s.serial != 0 || s.prev != nil || s.outer.slot != nil || s.noted {
			return fmt.Errorf("a slot in the list of free ones is not free: %+v", *s)
		}
		if len(s.ready) != 0 {
			return fmt.Errorf("a free slot has a message")
		}
	}
	turnedAway, shadows := 0, 0
	for _, s := range g.slots {
		switch {
		case s.state == slotRefused:
			turnedAway++
		case s.state == slotWaiting && s.serial != 0:
			shadows++
		}
	}
	if turnedAway != g.turnedAway || shadows != g.shadows {
		return fmt.Errorf("turned away %d, shadows %d; the slots say %d and %d", g.turnedAway, g.shadows, turnedAway, shadows)
	}
	if len(free) != g.spare {
		return fmt.Errorf("%d slots are free, %d are counted", len(free), g.spare)
	}
	for i, s := range g.slots {
		if s.index != i {
			return fmt.Errorf("slot %d says that it is slot %d", i, s.index)
		}
		if (s.state == slotFree) != free[s] {
			return fmt.Errorf("a slot is lost: %+v", *s)
		}
	}
	return nil
}

func (g *Gate) checkQueue() error {
	total := 0
	for l := range levels {
		n := 0
		var last *slot
		for s := g.queue.first[l]; s != nil; s = s.next {
			if s.state != slotWaiting || s.level != l || s.prev != last {
				return fmt.Errorf("level %d of the queue has a slot that does not belong there: %+v", l, *s)
			}
			last = s
			n++
		}
		if g.queue.last[l] != last || g.queue.length[l] != n {
			return fmt.Errorf("level %d of the queue: last or length is wrong", l)
		}
		total += n
	}
	if g.queue.total != total {
		return fmt.Errorf("queue total: %d, want %d", g.queue.total, total)
	}
	if err := g.checkEnds(); err != nil {
		return err
	}
	if s := g.queue.front(); s != nil && g.fitsLocked(s.level, s.want) {
		return fmt.Errorf("the front waiter fits, but waits: %+v", *s)
	}
	return nil
}

func (g *Gate) checkEnds() error {
	ends := g.queue.ends
	if len(ends) != g.queue.total {
		return fmt.Errorf("%d waits will end, want %d", len(ends), g.queue.total)
	}
	for i, e := range ends {
		if e.slot.state != slotWaiting || e.slot.end != i {
			return fmt.Errorf("end %d is of a slot that does not belong there: %+v", i, *e.slot)
		}
		if i > 0 && ends[(i-1)/2].until > e.until {
			return fmt.Errorf("end %d comes before the one in front of it", i)
		}
	}
	if len(ends) > 0 && (g.expiry.at == 0 || g.expiry.at > ends[0].until) {
		return fmt.Errorf("the timer is set for %d, but a wait ends at %d", g.expiry.at, ends[0].until)
	}
	return nil
}

func (g *Gate) checkHolds() error {
	watched := 0
	for _, s := range g.slots {
		if s.watched {
			watched++
		}
	}
	w := &g.holdWatch
	var last *slot
	for s := w.first; s != nil; s = s.heldAfter {
		watched--
		if !s.watched || s.serial == 0 || s.heldBefore != last || watched < 0 {
			return fmt.Errorf("the list of watched leases has a slot that does not belong there: %+v", *s)
		}
		last = s
	}
	if w.last != last || watched != 0 {
		return fmt.Errorf("%d watched leases are not in the list, or its end is wrong", watched)
	}
	if w.first != nil && w.at == 0 {
		return fmt.Errorf("leases are watched, but the timer is not set")
	}
	return nil
}

func (g *Gate) checkSums() error {
	var held, passing int64
	keys := map[string]int64{}
	for _, s := range g.slots {
		switch {
		case s.state == slotHolding:
			held += s.cost
		case s.state == slotPassing, s.state == slotWaiting && s.serial != 0:
			passing += s.cost
		}
		if s.state != slotFree && s.keyCost > 0 {
			keys[s.call.Key] += s.keyCost
		}
	}
	if held != g.inFlight || passing != g.passing {
		return fmt.Errorf("in flight %d, passing %d; the slots say %d and %d", g.inFlight, g.passing, held, passing)
	}
	if len(keys) != len(g.keys) {
		return fmt.Errorf("keys %v; the slots say %v", g.keys, keys)
	}
	for key, units := range keys {
		if g.keys[key] != units {
			return fmt.Errorf("key %q: %d units; the slots say %d", key, g.keys[key], units)
		}
	}
	return nil
}

// Slots is how many slots a gate has.
func Slots(g *Gate) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.slots)
}

// QueueRoom is for how many waiting calls a gate has memory.
func QueueRoom(g *Gate) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return cap(g.queue.ends)
}

// Plain returns the event without what it knows of the lease.
func (e Event) Plain() Event {
	e.slot, e.serial, e.id = nil, 0, 0
	return e
}
