package gate

import (
	"context"
	"errors"
	"fmt"
)

// drain is what a gate keeps about being drained.
type drain struct {
	begun chan struct{} // closed while the gate drains; made when it is asked for
	ended chan struct{} // closed when a draining gate is empty or reopened
}

// Drain makes the gate reject all newcomers, with [ReasonDraining], and returns when
// all leases are back. Calls that wait already are still served. Clients of the
// rejected calls are told to go elsewhere at once; see [WithDrainDelay].
//
// If ctx ends first, or [Gate.Reopen] is called, Drain returns an error, ctx's or
// [ErrReopened]; after the end of ctx the gate stays closed. In a dry run the
// rejections are only reported. It may be called several times.
func (g *Gate) Drain(ctx context.Context) error {
	g.mu.Lock()
	if !g.draining {
		g.draining = true
		if g.drain.begun != nil {
			close(g.drain.begun)
		}
		g.resizeLocked()
	}
	if g.emptyLocked() {
		g.mu.Unlock()
		return nil
	}
	if g.drain.ended == nil {
		g.drain.ended = make(chan struct{})
	}
	ended := g.drain.ended
	g.mu.Unlock()

	select {
	case <-ended:
	case <-ctx.Done():
		return ctx.Err()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.draining {
		return ErrReopened
	}
	return nil
}

// ErrReopened is what [Gate.Drain] returns if [Gate.Reopen] undoes it.
var ErrReopened = errors.New("gate: reopened while it was drained")

// Reopen undoes a [Gate.Drain]: the gate admits calls again. It is an error if the
// gate does not drain.
func (g *Gate) Reopen() error {
	g.mu.Lock()
	defer g.unlock()
	if !g.draining {
		return fmt.Errorf("gate %q: Reopen: the gate does not drain", g.name)
	}
	g.draining = false
	g.drain.begun = nil
	g.endDrainLocked()
	g.resizeLocked()
	return nil
}

// Draining returns a channel that is closed when the gate of the lease begins to
// drain, so that the handler of a long stream can end it in order. Of several gates
// it is the widest. A handler that has ended its stream for that reason gives the
// lease back as ever, by returning. For the zero Lease the channel is nil.
func (l Lease) Draining() <-chan struct{} {
	if l.slot == nil {
		return nil
	}
	g := l.slot.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.drain.begun == nil {
		g.drain.begun = make(chan struct{})
		if g.draining {
			close(g.drain.begun)
		}
	}
	return g.drain.begun
}

// emptyLocked reports whether no call is in flight and none waits.
func (g *Gate) emptyLocked() bool { return g.inFlight+g.passing == 0 && g.queue.total == 0 }

// endDrainLocked lets calls of Drain return.
func (g *Gate) endDrainLocked() {
	if g.drain.ended != nil {
		close(g.drain.ended)
		g.drain.ended = nil
	}
}
