package gate

import (
	"context"
	"fmt"
)

// SetLimit changes the limit. Raising it admits waiting calls at once; lowering
// it leaves the holders alone, so that for a while more may be in flight than
// the limit says. It is an error if n is not between 1 and [MaxLimit].
func (g *Gate) SetLimit(n int64) error {
	if err := checkLimit("limit", n); err != nil {
		return fmt.Errorf("gate %q: SetLimit: %w", g.name, err)
	}
	g.mu.Lock()
	defer g.unlock()
	g.limit = n
	g.resize()
	g.dispatch()
	return nil
}

// resize works out what follows from the limit. The lock is held.
func (g *Gate) resize() {
	room := g.limit
	for l := levels - 1; l >= 0; l-- {
		g.room[l] = max(room, 1)
		room -= g.config.reserve[l]
	}
	g.keyCap = g.config.keyLimit
	if share := g.config.keyShare; share > 0 {
		n := max(int64(share*float64(g.limit)), 1)
		if g.keyCap == 0 || n < g.keyCap {
			g.keyCap = n
		}
	}
	g.fastRoom = g.room
	if g.draining || g.keys != nil {
		g.fastRoom = [levels]int64{-1, -1, -1}
	}
}

// Drain makes the gate refuse all newcomers and everybody who waits, with
// [ReasonDraining], and returns when all leases are back or ctx ends, then with
// ctx's error. The gate stays closed in both cases. In a dry run the refusals
// are only reported.
func (g *Gate) Drain(ctx context.Context) error {
	g.mu.Lock()
	g.draining = true
	g.resize()
	for s := g.queue.front(); s != nil; s = g.queue.front() {
		g.turnAway(s, ReasonDraining)
	}
	if g.inFlight+g.passing == 0 {
		g.unlock()
		return nil
	}
	if g.idle == nil {
		g.idle = make(chan struct{})
	}
	idle := g.idle
	g.unlock()

	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// overKeyCap reports whether the arrival's key has no units left. The lock is
// held.
func (g *Gate) overKeyCap(a *arrival) bool {
	if g.keyCap == 0 || a.call.Key == "" {
		return false
	}
	used := g.keys[a.call.Key]
	return used > 0 && g.clamp(a.level, a.want) > g.keyCap-used
}

// bookKey counts the units of s, which waits or is about to hold, on its key.
// The lock is held.
func (g *Gate) bookKey(s *slot) {
	if g.keys == nil || s.call.Key == "" {
		return
	}
	s.keyCost = g.clamp(s.level, s.want)
	g.keys[s.call.Key] += s.keyCost
}

// unbookKey takes the units of s off its key again, and forgets a key that has
// none left. The lock is held.
func (g *Gate) unbookKey(s *slot) {
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
