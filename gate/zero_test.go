package gate_test

import (
	"context"
	"errors"
	"testing"

	"github.com/rpcgate/rpcgate/gate"
)

// TestTheZeroGateAdmitsNoCall has the mistake of a Gate that was declared, and not made.
func TestTheZeroGateAdmitsNoCall(t *testing.T) {
	for what, try := range map[string]func(g *gate.Gate) error{
		"Acquire": func(g *gate.Gate) error {
			lease, err := g.Acquire(t.Context(), gate.Call{})
			lease.Release()
			return err
		},
		"Enter":      func(g *gate.Gate) error { _, err := gate.Enter(t.Context(), g, &gate.Call{Cost: 5}); return err },
		"TryAcquire": func(g *gate.Gate) error { _, err := g.TryAcquire(gate.Call{}); return err },
		"Do": func(g *gate.Gate) error {
			return g.Do(t.Context(), gate.Call{}, func(context.Context) error { return nil })
		},
		"RefuseEarly": func(g *gate.Gate) error { return g.RefuseEarly(t.Context(), gate.Call{}) },
		"a chain": func(g *gate.Gate) error {
			_, err := gate.Chain(g, newGate(t, 1)).Acquire(t.Context(), gate.Call{})
			return err
		},
		"after a Snapshot": func(g *gate.Gate) error {
			g.Snapshot()
			_, err := g.Acquire(t.Context(), gate.Call{})
			return err
		},
		"after SetLimit": func(g *gate.Gate) error {
			if err := g.SetLimit(5); err != nil {
				return err
			}
			_, err := g.TryAcquire(gate.Call{})
			return err
		},
	} {
		err := try(new(gate.Gate))
		var r *gate.Rejection
		if err == nil || errors.As(err, &r) {
			t.Errorf("%s: got %v, want an error that is no rejection", what, err)
		}
	}
}
