package gate

import "context"

// Drain makes the gate reject all newcomers and all waiting calls, with
// [ReasonDraining], and returns when all leases are back or ctx ends, then with
// ctx's error. The gate stays closed in both cases. In a dry run the
// rejections are only reported.
func (g *Gate) Drain(ctx context.Context) error {
	g.mu.Lock()
	g.draining = true
	g.resizeLocked()
	for s := g.queue.front(); s != nil; s = g.queue.front() {
		g.turnAwayLocked(s, ReasonDraining)
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
