package gate_test

import (
	"context"
	"testing"

	"github.com/rpcgate/rpcgate/gate"
)

// writer is an observer that writes down the calls it is told to, and remembers the ids of all events.
type writer struct {
	writes func(gate.Event) bool
	ids    []string // of what it has written down
	later  []string // as other events of the gate have them
}

func (*writer) Interest(context.Context) gate.Interest { return gate.ObserveAll }

func (w *writer) OnEvent(ctx context.Context, e gate.Event) {
	if e.Kind == gate.EventDecision && w.writes(e) {
		w.ids = append(w.ids, e.Identified(ctx).RequestID)
		return
	}
	w.later = append(w.later, e.Call.Resolved(ctx).RequestID)
}

func all(gate.Event) bool  { return true }
func none(gate.Event) bool { return false }

func TestACallThatIsWrittenDownHasOneIdEverywhere(t *testing.T) {
	g := newGate(t, 2)
	w := &writer{writes: all}
	g.Observe(w)
	for range 2 { // the second one uses the slot of the first
		lease := acquire(t, g, gate.Call{Route: "/a.B/C"})
		id := w.ids[0]
		if len(id) != 32 {
			t.Errorf("made the id %q, want 32 digits", id)
		}
		wantEqual(t, "id of the lease", lease.IdentifiedAs(t.Context()), id)
		wantEqual(t, "id of the holder", g.Snapshot().Holders[0].RequestID, id)
		lease.Release()
		wantEqual(t, "id of the release", w.later[0], id)
		wantEqual(t, "id of a lease that was released", lease.IdentifiedAs(t.Context()), "")
		w.ids, w.later = nil, []string(nil)

		other := acquire(t, g, gate.Call{})
		if w.ids[0] == id {
			t.Error("two calls have one id")
		}
		other.Release()
		w.ids, w.later = nil, nil
	}
}

func TestACallThatNobodyWritesDownHasNoId(t *testing.T) {
	g := newGate(t, 2)
	w := &writer{writes: all}
	g.Observe(w)
	acquire(t, g, gate.Call{}).Release()
	w.writes, w.later = none, nil
	lease := acquire(t, g, gate.Call{})
	wantEqual(t, "id of the lease", lease.IdentifiedAs(t.Context()), "")
	wantEqual(t, "id of the holder", g.Snapshot().Holders[0].RequestID, "")
	lease.Release()
	wantEqual(t, "ids of events", len(w.later), 2)
	for _, id := range w.later {
		wantEqual(t, "id of an event", id, "")
	}
}

func TestTheClientsIdStays(t *testing.T) {
	for name, call := range map[string]gate.Call{
		"sent":  {RequestID: "req-17"},
		"asked": {Caller: callerStub{"req-17", ""}},
	} {
		g := newGate(t, 1)
		w := &writer{writes: all}
		g.Observe(w)
		lease := acquire(t, g, call)
		wantEqual(t, name+": written down", w.ids[0], "req-17")
		wantEqual(t, name+": id of the lease", lease.IdentifiedAs(t.Context()), "req-17")
		lease.Release()
	}
}

// TestOneIdForAllGatesOfAChain has observers that write down the calls of one gate, or of both.
func TestOneIdForAllGatesOfAChain(t *testing.T) {
	for _, written := range []string{"narrow", "wide", "both"} {
		narrow, wide := newNamed(t, "narrow", 1), newNamed(t, "wide", 2)
		w := &writer{writes: func(e gate.Event) bool { return written == "both" || e.Gate == written }}
		narrow.Observe(w)
		wide.Observe(w)
		lease := acquire(t, gate.Chain(narrow, wide), gate.Call{Route: "/a.B/C"})
		id := w.ids[0]
		for _, other := range w.ids {
			wantEqual(t, written+": id at a gate", other, id)
		}
		wantEqual(t, written+": id of the lease", lease.IdentifiedAs(t.Context()), id)
		lease.Release()
	}
}

// TestAHandlersGatesHaveTheIdOfItsCall has a call that was written down, and a gate in its handler.
func TestAHandlersGatesHaveTheIdOfItsCall(t *testing.T) {
	for name, call := range map[string]gate.Call{
		"a call of which little is known": {Route: "/a.B/C"},
		"a call with an address":          {Route: "/a.B/C", RemoteIP: "192.0.2.7"},
	} {
		front, db := newNamed(t, "front", 1), newNamed(t, "db", 1, gate.WithMaxWait(0))
		w := &writer{writes: all}
		front.Observe(w)
		db.Observe(w)
		lease := acquire(t, front, call)
		ctx := gate.NewContext(t.Context(), lease, front, &call)
		err := db.Do(ctx, gate.Call{}, func(ctx context.Context) error {
			_, err := db.Acquire(ctx, gate.Call{})
			r := refused(t, err, gate.ReasonLimit)
			wantEqual(t, name+": id of a rejection in the handler", r.RequestID, w.ids[0])
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		wantEqual(t, name+": id at the handler's gate", w.ids[1], w.ids[0])
		lease.Release()
	}
}

// TestAnIdIsForOneCallOnly has an observer that asks late, when the slot belongs to another call.
func TestAnIdIsForOneCallOnly(t *testing.T) {
	g := newGate(t, 1)
	var first gate.Event
	g.Observe(onEvent(func(e gate.Event) {
		if first.Kind == 0 {
			first = e
		}
	}))
	acquire(t, g, gate.Call{}).Release()
	next := acquire(t, g, gate.Call{})
	if first.Identified(t.Context()).RequestID == "" {
		t.Error("no id for a call that is over")
	}
	wantEqual(t, "id of the next call", next.IdentifiedAs(t.Context()), "")
	next.Release()
}

type onEvent func(gate.Event)

func (onEvent) Interest(context.Context) gate.Interest    { return gate.ObserveAll }
func (f onEvent) OnEvent(_ context.Context, e gate.Event) { f(e) }
