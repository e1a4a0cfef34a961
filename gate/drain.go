package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rpcgate/rpcgate/gate/internal/era"
)

// drain is what a gate keeps about being drained.
type drain struct {
	begun   chan struct{} // closed while the gate drains; made when it is asked for
	era     era.Era       // that begun was made in
	callers []chan error  // each has room for the result of a call of Drain that waits
}

// Drain makes the gate reject all newcomers, with [ReasonDraining], and returns when
// all leases are back. Calls that wait already are still served. Clients of the
// rejected calls are told to go elsewhere at once; see [WithDrainDelay].
//
// If ctx ends first, or [Gate.Reopen] is called, Drain returns an error, ctx's or
// [ErrReopened]; after the end of ctx the gate stays closed. In a dry run the
// rejections are only reported. It may be called several times.
func (g *Gate) Drain(ctx context.Context) error {
	now := g.moment()
	g.mu.Lock()
	if !g.draining {
		g.draining = true
		g.tellHoldersLocked(now.era)
		g.resizeLocked()
	}
	if g.emptyLocked() {
		g.mu.Unlock()
		return nil
	}
	result := make(chan error, 1)
	g.drain.callers = append(g.drain.callers, result)
	g.mu.Unlock()

	select {
	case err := <-result:
		return err
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.drain.callers = slices.DeleteFunc(g.drain.callers, func(c chan error) bool { return c == result })
	return ctx.Err()
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
	g.endDrainLocked(ErrReopened)
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
	return l.slot.gate.Draining()
}

// Draining returns a channel that is closed when the gate begins to drain. It is for
// streams that hold no lease: idle ones with [HoldMessage] and those of exempt routes.
func (g *Gate) Draining() <-chan struct{} {
	now := g.moment()
	g.mu.Lock()
	defer g.mu.Unlock()
	if d := &g.drain; d.begun == nil || !d.era.Same(now.era) {
		d.begun, d.era = make(chan struct{}), now.era
		if g.draining {
			close(d.begun)
		}
	}
	return g.drain.begun
}

// tellHoldersLocked tells the holders that asked for it of a drain. Those of another era
// are gone.
func (g *Gate) tellHoldersLocked(now era.Era) {
	if d := &g.drain; d.begun != nil && d.era.Same(now) {
		close(d.begun)
	} else {
		d.begun = nil
	}
}

// emptyLocked reports whether no call is in flight and none waits.
func (g *Gate) emptyLocked() bool { return g.inFlight+g.passing == 0 && g.queue.total == 0 }

// endDrainLocked lets calls of Drain return with err.
func (g *Gate) endDrainLocked(err error) {
	for _, result := range g.drain.callers {
		result <- err
	}
	g.drain.callers = nil
}
