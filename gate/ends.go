package gate

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
	*h = shrunk((*h)[:last])
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
