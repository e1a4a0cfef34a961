package gate

import "fmt"

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
	g.resizeLocked()
	g.dispatchLocked()
	return nil
}

// resizeLocked works out what follows from the limit and the settings.
func (g *Gate) resizeLocked() {
	set := g.set()
	room := g.limit
	for l := levels - 1; l >= 0; l-- {
		g.room[l] = max(room, 1)
		room -= set.reserve[l]
	}
	g.keyCap = set.keyLimit
	if share := set.keyShare; share > 0 {
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
