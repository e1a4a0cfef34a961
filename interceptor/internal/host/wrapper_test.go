package host

import (
	"context"
	"errors"
	"testing"

	"github.com/rpcgate/rpcgate/gate"
)

// counting is a user's Admitter around another one.
type counting struct {
	next gate.Admitter
	n    int
}

func (c *counting) Acquire(ctx context.Context, call gate.Call) (gate.Lease, error) {
	c.n++
	return c.next.Acquire(ctx, call)
}

func (c *counting) Unwrap() gate.Admitter { return c.next }

func (c *counting) acquired() int { return c.n }

// embedding is one that embeds it, and so has its AcquireCall.
type embedding struct {
	*gate.Policy
	n int
}

func (e *embedding) Acquire(ctx context.Context, call gate.Call) (gate.Lease, error) {
	e.n++
	return e.Policy.Acquire(ctx, call)
}

func (e *embedding) acquired() int { return e.n }

// embeddingGate is the same with a Gate.
type embeddingGate struct {
	*gate.Gate
	n int
}

func (e *embeddingGate) Acquire(ctx context.Context, call gate.Call) (gate.Lease, error) {
	e.n++
	return e.Gate.Acquire(ctx, call)
}

func (e *embeddingGate) acquired() int { return e.n }

type wrapper interface {
	gate.Admitter
	acquired() int
}

func TestWrapperOfAPolicyKeepsWhatThePolicyOffers(t *testing.T) {
	for name, wrap := range map[string]func(*gate.Policy) wrapper{
		"Unwrap":         func(p *gate.Policy) wrapper { return &counting{next: p} },
		"Unwrap, Unwrap": func(p *gate.Policy) wrapper { return &counting{next: &counting{next: p}} },
		"embedded":       func(p *gate.Policy) wrapper { return &embedding{Policy: p} },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPolicy(t, gate.Route("*", newGate(t)).Stream(gate.HoldMessage), gate.Exempt("/free.V1/*"))
			w, sdk := wrap(p), newTelemetry()
			h := Must("", w, []Option{sdk.option()})

			if !h.Exempts("/free.V1/X") || !h.Passes(t.Context(), "/free.V1/X") || h.Exempts("/a.B/C") {
				t.Error("the exemptions are not the policy's")
			}
			if got := h.StreamMode("/a.B/C"); got != gate.HoldMessage {
				t.Errorf("stream mode %s, want hold_message", got)
			}
			call := gate.Call{Route: "/a.B/C"}
			if err := h.RefuseEarly(t.Context(), &call); err != nil {
				t.Errorf("refused early with room: %v", err)
			}
			lease, err := h.Acquire(t.Context(), &call)
			if err != nil {
				t.Fatal(err)
			}
			defer lease.Release()
			if err := h.RefuseEarly(t.Context(), &call); !errors.Is(err, gate.ErrBusy) {
				t.Errorf("refused early with error %v, want gate.ErrBusy", err)
			}
			if got := sdk.requests(t); got != 2 {
				t.Errorf("%d requests counted, want the accepted and the refused one", got)
			}
		})
	}
}

func TestWrappersOwnAcquireDecides(t *testing.T) {
	for name, w := range map[string]wrapper{
		"Unwrap":          &counting{next: newPolicy(t, gate.Route("*", newGate(t)))},
		"Unwrap to gate":  &counting{next: newGate(t)},
		"embedded policy": &embedding{Policy: newPolicy(t, gate.Route("*", newGate(t)))},
		"embedded gate":   &embeddingGate{Gate: newGate(t)},
	} {
		t.Run(name, func(t *testing.T) {
			h := mustHost(w)
			for _, acquire := range []func() (gate.Lease, error){
				func() (gate.Lease, error) { return h.Acquire(t.Context(), &gate.Call{}) },
				func() (gate.Lease, error) { return h.AcquireClient(t.Context(), &gate.Call{}) },
				func() (gate.Lease, error) {
					m := h.Messages(t.Context(), gate.Call{}, nil)
					defer m.End()
					return gate.Lease{}, m.Admit("message")
				},
			} {
				lease, err := acquire()
				if err != nil {
					t.Fatal(err)
				}
				lease.Release()
			}
			if got := w.acquired(); got != 3 {
				t.Errorf("its Acquire was called %d times, want 3", got)
			}
		})
	}
}
