package stress

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

// meddle changes limits and interests, switches the dry run, cancels nobody and looks at everything.
func (w *world) meddle(ctx context.Context, r *rand.Rand, check func(*gate.Gate) error) {
	moving, dry := w.in(moving)[0], w.in(dry)[0]
	for ctx.Err() == nil {
		if err := moving.SetLimit(1 + r.Int64N(moving.most)); err != nil {
			w.problem("%v", err)
		}
		if err := dry.SetLimit(1 + r.Int64N(3)); err != nil {
			w.problem("%v", err)
		}
		dry.SetDryRun(r.IntN(2) == 0)
		for _, f := range w.fickle {
			f.interest.Store(r.Uint32N(uint32(gate.ObserveAll) + 1))
		}
		g := w.gates[r.IntN(len(w.gates))]
		if s := g.look(); g.most > 0 && s.InFlight > g.most || s.InFlight < 0 {
			w.problem("gate %s: %d in flight, want at most %d", g.Name(), s.InFlight, g.most)
		}
		g.Waiters()
		if check != nil {
			if err := check(g.Gate); err != nil {
				w.problem("gate %s: %v", g.Name(), err)
			}
		}
		<-time.After(time.Duration(r.IntN(300)) * time.Microsecond)
	}
	dry.SetDryRun(false)
}

// look takes a Snapshot, but not of the plain gate: it ends the fast path.
func (g *watched) look() gate.Snapshot {
	if g.Name() == "plain" {
		return g.Overview()
	}
	return g.Snapshot()
}

// longDrain is far more than any call takes.
const longDrain = 20 * time.Second

// drainAndReopen drains a gate again and again, and reopens it at any time. While it drains and is empty, it stays so.
func (w *world) drainAndReopen(ctx context.Context, r *rand.Rand) {
	g := w.in(drained)[0]
	for ctx.Err() == nil {
		early := r.IntN(2) == 0
		results := make(chan error)
		n := 1 + r.IntN(3)
		for i := range n {
			patience := time.Duration(r.IntN(3000)) * time.Microsecond
			if i == 0 && !early {
				patience = longDrain
			}
			go func() {
				ctx, cancel := context.WithTimeout(context.Background(), patience)
				defer cancel()
				err := g.Drain(ctx)
				if err != nil && patience == longDrain {
					w.problem("a drain of %s ended with %v", patience, err)
				}
				results <- err
			}()
		}
		if early {
			<-time.After(time.Duration(r.IntN(500)) * time.Microsecond)
			_ = g.Reopen()
		}
		empty := false
		for range n {
			err := <-results
			empty = empty || err == nil
			w.countDrain(err)
		}
		if s := g.Overview(); empty && !early && (s.InFlight != 0 || s.Waiting != 0 || g.inside.Load() != 0) {
			w.problem("gate %s was drained and has %d in flight, %d waiting", g.Name(), s.InFlight, s.Waiting)
		}
		_ = g.Reopen() // an error if that was done already
		<-time.After(time.Duration(r.IntN(2000)) * time.Microsecond)
	}
}

func (w *world) countDrain(err error) {
	switch {
	case err == nil:
		w.drained.Add(1)
	case errors.Is(err, gate.ErrReopened):
		w.reopened.Add(1)
	case !errors.Is(err, context.DeadlineExceeded):
		w.problem("Drain: %v", err)
	}
}
