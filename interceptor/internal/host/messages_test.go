package host

import (
	"context"
	"net/http"
	"testing"

	"github.com/rpcgate/rpcgate/gate"
)

func TestLeaseOfAMessageIsHeldUntilTheNextOne(t *testing.T) {
	g := newGate(t)
	m := mustHost(g).Messages(t.Context(), gate.Call{}, nil)
	for range 2 {
		if err := m.Admit("message"); err != nil || g.InFlight() != 1 {
			t.Fatalf("error %v, %d in flight, want 1", err, g.InFlight())
		}
		m.Next()
		if n := g.InFlight(); n != 0 {
			t.Fatalf("%d in flight while the handler waits for the next message", n)
		}
	}
	if err := m.Admit("last"); err != nil {
		t.Fatal(err)
	}
	m.End()
	if n := g.InFlight(); n != 0 {
		t.Errorf("%d in flight after the end", n)
	}
	if err := m.Admit("late"); err != nil || g.InFlight() != 0 {
		t.Errorf("error %v, %d in flight, want none for a message that nobody works on", err, g.InFlight())
	}
}

// TestMessagesOfANestedStreamTakeTheGatesThatAreMissing has a handler dispatch to a stream, which needs its gate and one
// more.
func TestMessagesOfANestedStreamTakeTheGatesThatAreMissing(t *testing.T) {
	front, db := newGate(t), gate.Must(gate.New("more", 2, gate.WithMaxWait(0)))
	h := mustHost(newPolicy(t, gate.Route("/batch", front), gate.Route("/stream", front, db).Stream(gate.HoldMessage)))
	batch := &gate.Call{Route: "/batch"}
	lease, err := h.Acquire(t.Context(), batch)
	if err != nil {
		t.Fatal(err)
	}
	defer lease.Release()
	m := h.Messages(h.Context(t.Context(), lease, batch), gate.Call{Route: "/stream"}, nil)
	defer m.End()
	if err := m.Admit("message"); err != nil || front.InFlight() != 1 || db.InFlight() != 1 {
		t.Errorf("error %v, %d and %d in flight, want 1 and 1", err, front.InFlight(), db.InFlight())
	}
}

// TestACallOfAMessagesHandlerPassesItsGates has the handler of a message dispatch to another route.
func TestACallOfAMessagesHandlerPassesItsGates(t *testing.T) {
	g := newGate(t)
	h := mustHost(g)
	m := h.Messages(t.Context(), gate.Call{Route: "/stream"}, nil)
	defer m.End()
	if err := m.Admit("message"); err != nil {
		t.Fatal(err)
	}
	if lease, err := h.Acquire(m.Context(), &gate.Call{Route: "/part"}); err != nil || lease != (gate.Lease{}) {
		t.Errorf("lease %+v and error %v, want the message's unit to be enough", lease, err)
	}
	m.Next()
	lease, err := h.Acquire(m.Context(), &gate.Call{Route: "/part"})
	if err != nil || g.InFlight() != 1 {
		t.Errorf("error %v, %d in flight between two messages, want one unit", err, g.InFlight())
	}
	lease.Release()
}

func TestMessagesAreWeighedOneByOneAndDescribedOnce(t *testing.T) {
	var calls []gate.Call
	g := gate.Must(gate.New("db", 10, gate.WithOnEvent(func(_ context.Context, e gate.Event) {
		if e.Kind == gate.EventDecision {
			calls = append(calls, e.Call)
		}
	})))
	keys := 0
	h := Must("", g, []Option{OptionFunc(func(c *Config) error {
		c.Key = func(_ context.Context, _ gate.Call, md Metadata) string { keys++; return md.Get("x-tenant") }
		c.Cost = func(_ context.Context, _ string, request any) int64 { return int64(len(request.(string))) }
		return nil
	})})
	m := h.Messages(t.Context(), gate.Call{Route: "/a.B/C"}, http.Header{"X-Tenant": {"a"}})
	defer m.End()
	for _, message := range []string{"1", "22"} {
		if err := m.Admit(message); err != nil {
			t.Fatal(err)
		}
	}
	if keys != 1 || len(calls) != 2 || calls[0].Key != "a" || calls[0].Cost != 1 || calls[1].Cost != 2 {
		t.Errorf("the key was asked for %d times, the calls are %+v", keys, calls)
	}
}

// TestAMessageDoesNotHaveTheSizeOfItsStream has a stream whose whole size is known.
func TestAMessageDoesNotHaveTheSizeOfItsStream(t *testing.T) {
	for name, test := range map[string]struct {
		config Config
		want   int64
	}{
		"unknown":   {Config{}, gate.SizeUnknown},
		"by option": {Config{Size: func(m any) int64 { return int64(len(m.(string))) }}, 3},
	} {
		size := int64(-99)
		g := gate.Must(gate.New("db", 1, gate.WithOnEvent(func(_ context.Context, e gate.Event) { size = e.Call.Size })))
		set := OptionFunc(func(to *Config) error { *to = test.config; return nil })
		m := Must("", gate.Admitter(g), []Option{set}).Messages(t.Context(), gate.Call{Size: 500}, nil)
		if err := m.Admit("abc"); err != nil {
			t.Fatal(err)
		}
		m.End()
		if size != test.want {
			t.Errorf("%s: size %d, want %d", name, size, test.want)
		}
	}
}
