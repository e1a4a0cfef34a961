package gate

// queue holds the waiting slots: by priority, and in order of arrival within
// one, and apart from that by the end of their wait. Every operation is O(1), but
// for what the heap of the ends takes. The gate's lock guards it.
type queue struct {
	total  int
	length [levels]int
	first  [levels]*slot
	last   [levels]*slot
	ends   ends
}

// push appends s, which waits until the given time, to the slots of its level.
func (q *queue) push(s *slot, until int64) {
	l := s.level
	s.prev, s.next = q.last[l], nil
	if s.prev == nil {
		q.first[l] = s
	} else {
		s.prev.next = s
	}
	q.last[l] = s
	q.length[l]++
	q.total++
	q.ends.push(s, until)
}

// remove takes s out, wherever it stands.
func (q *queue) remove(s *slot) {
	l := s.level
	if s.prev == nil {
		q.first[l] = s.next
	} else {
		s.prev.next = s.next
	}
	if s.next == nil {
		q.last[l] = s.prev
	} else {
		s.next.prev = s.prev
	}
	s.prev, s.next = nil, nil
	q.length[l]--
	q.total--
	q.ends.remove(s)
}

// front is the slot whose turn it is, or nil.
func (q *queue) front() *slot {
	for l := levels - 1; l >= 0; l-- {
		if q.first[l] != nil {
			return q.first[l]
		}
	}
	return nil
}

// lastBelow is the slot that a newcomer of the given level may displace: the
// last one of the lowest level that waits, if that is below. Otherwise nil.
func (q *queue) lastBelow(level int) *slot {
	for l := range level {
		if q.last[l] != nil {
			return q.last[l]
		}
	}
	return nil
}

// waitsAtOrAbove reports whether a newcomer of the given level has another call
// in front of it.
func (q *queue) waitsAtOrAbove(level int) bool {
	for l := level; l < levels; l++ {
		if q.length[l] > 0 {
			return true
		}
	}
	return false
}
