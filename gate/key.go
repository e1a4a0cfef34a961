package gate

// overKeyCapLocked reports whether the arrival's key has no units left.
func (g *Gate) overKeyCapLocked(key string, a *arrival) bool {
	if g.keyCap == 0 || key == "" {
		return false
	}
	used := g.keys[key]
	return used > 0 && g.clampLocked(a.level, a.want) > g.keyCap-used
}

// bookKeyLocked counts the units of s, which waits or is about to hold, on its key.
func (g *Gate) bookKeyLocked(s *slot) {
	if g.keys == nil || s.call.Key == "" {
		return
	}
	s.keyCost, s.booked = g.clampLocked(s.level, s.want), true
	g.keys[s.call.Key] += s.keyCost
}

// unbookKeyLocked takes the units of s off its key again, and forgets a key that has
// none left.
func (g *Gate) unbookKeyLocked(s *slot) {
	if s.keyCost == 0 {
		return
	}
	if left := g.keys[s.call.Key] - s.keyCost; left > 0 {
		g.keys[s.call.Key] = left
	} else {
		delete(g.keys, s.call.Key)
	}
	s.keyCost = 0
}
