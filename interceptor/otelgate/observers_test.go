package otelgate_test

import (
	"context"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/otelgate"
)

// asked is a context that counts how often it is looked at.
type asked struct {
	context.Context
	values int
}

func (a *asked) Value(key any) any {
	a.values++
	return a.Context.Value(key)
}

// TestCallsOfAHostAreNotAskedAboutSpans lets the gate's observers have no look at the context of an accepted call: the
// host annotates its span. A gate without a host has nobody else, so there they look.
func TestCallsOfAHostAreNotAskedAboutSpans(t *testing.T) {
	db := gate.Must(gate.New("db", 1))
	attach(t, db)
	ctx := &asked{Context: context.Background()}
	call := func() {
		t.Helper()
		lease, err := db.Acquire(ctx, gate.Call{Route: listOpen})
		if err != nil {
			t.Fatal(err)
		}
		lease.Release()
	}
	if call(); ctx.values != 0 {
		t.Errorf("the context of a host's call was looked at %d times", ctx.values)
	}
	if err := otelgate.Instrument(db); err != nil {
		t.Fatal(err)
	}
	if call(); ctx.values == 0 {
		t.Error("nobody looked for the span of a call without a host")
	}
}

// written is a span that keeps the attributes that were set last.
type written struct {
	tracenoop.Span
	attrs [9]attribute.KeyValue
	n     int
}

func (w *written) IsRecording() bool { return true }

func (w *written) SetAttributes(attrs ...attribute.KeyValue) { w.n = copy(w.attrs[:], attrs) }

// TestAttributesAreThoseOfTheCallAtHand has calls that differ in one thing each, as lists of attributes are used again.
func TestAttributesAreThoseOfTheCallAtHand(t *testing.T) {
	db, reports := gate.Must(gate.New("db", 2)), gate.Must(gate.New("reports", 2))
	policy, err := gate.NewPolicy(gate.Route("/reports.*", reports), gate.Route("*", db))
	if err != nil {
		t.Fatal(err)
	}
	recorder, err := otelgate.NewRecorder(policy)
	if err != nil {
		t.Fatal(err)
	}
	span := new(written)
	ctx := trace.ContextWithSpan(context.Background(), span)
	annotated := func(route, name string, inFlight, limit int64) gate.Lease {
		t.Helper()
		call := gate.Call{Route: route}
		lease, err := policy.Acquire(ctx, call)
		if err != nil {
			t.Fatal(err)
		}
		recorder.Annotate(ctx, &call, lease, nil)
		wantAttrs(t, "the span", span.attrs[:span.n], attrs{"gate.name": name, "gate.decision": "accepted",
			"gate.waited_ms": int64(0), "gate.in_flight": inFlight, "gate.limit": limit})
		return lease
	}
	annotated("/orders.v1.Orders/Get", "db", 1, 2)
	annotated("/orders.v1.Orders/Get", "db", 2, 2).Release()
	annotated("/reports.v1.Reports/Monthly", "reports", 1, 2)
	if err := db.SetLimit(3); err != nil {
		t.Fatal(err)
	}
	annotated("/orders.v1.Orders/Get", "db", 2, 3)
}

func TestAnnotationsDoNotAllocate(t *testing.T) {
	db := gate.Must(gate.New("db", 1))
	recorder, err := otelgate.NewRecorder(db)
	if err != nil {
		t.Fatal(err)
	}
	ctx := trace.ContextWithSpan(context.Background(), new(written))
	call := gate.Call{Route: listOpen}
	lease, err := db.Acquire(ctx, call)
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { recorder.Annotate(ctx, &call, lease, nil) }); n != 0 {
		t.Errorf("%v allocations beside those of the span", n)
	}
}
