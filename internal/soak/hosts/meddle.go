package hosts

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

// limits changes a limit.
func (w *world) limits(r *rand.Rand) {
	g := w.gates[r.IntN(len(w.gates))]
	if err := g.SetLimit(1 + r.Int64N(g.most)); err != nil {
		w.problem("gate %s: %v", g.Name(), err)
	}
	<-time.After(time.Duration(r.IntN(1000)) * time.Microsecond)
}

// drain drains a gate and reopens it, maybe before it is empty.
func (w *world) drain(r *rand.Rand) {
	g := w.gates[r.IntN(len(w.gates))]
	result := make(chan error, 1)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	go func() { result <- g.Drain(ctx) }()
	if r.IntN(2) == 0 {
		<-time.After(time.Duration(r.IntN(500)) * time.Microsecond)
		_ = g.Reopen() // an error if the drain has not begun
	}
	switch err := <-result; {
	case err == nil:
		w.drained.Add(1)
		if s := g.Overview(); s.Draining && (s.InFlight != 0 || s.Waiting != 0 || g.inside.Load() != 0) {
			w.problem("gate %s was drained and has %d in flight, %d waiting, %d in its handlers",
				g.Name(), s.InFlight, s.Waiting, g.inside.Load())
		}
	case errors.Is(err, gate.ErrReopened):
		w.reopened.Add(1)
	default:
		w.problem("gate %s: a drain of %s ended with %v", g.Name(), patience, err)
	}
	_ = g.Reopen() // an error if that was done already
	// Not at once: the refusals of a draining gate end HTTP/2 connections, and after two of them clients wait for a second.
	<-time.After(time.Duration(50+r.IntN(200)) * time.Millisecond)
}
