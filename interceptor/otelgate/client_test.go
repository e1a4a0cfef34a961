package otelgate_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/otelgate"
)

// TestClientsGateLeavesTheAttributesOfTheServersSpanAlone has a handler that calls a downstream, whose gate is full.
func TestClientsGateLeavesTheAttributesOfTheServersSpanAlone(t *testing.T) {
	for kind, want := range map[trace.SpanKind]string{
		trace.SpanKindServer:   "db",
		trace.SpanKindClient:   "pricing",
		trace.SpanKindInternal: "pricing",
	} {
		sdk := newSDK()
		db, pricing := gate.Must(gate.New("db", 1)), gate.Must(gate.New("pricing", 1, gate.WithMaxWait(0)))
		server, err := otelgate.NewRecorder(db)
		if err != nil {
			t.Fatal(err)
		}
		client, err := otelgate.NewRecorder(pricing)
		if err != nil {
			t.Fatal(err)
		}
		ctx, span := sdk.traces.Tracer("test").Start(t.Context(), "call", trace.WithSpanKind(kind))
		call := gate.Call{Route: listOpen}
		lease, err := db.Acquire(ctx, call)
		server.Annotate(ctx, &call, lease, err)
		if _, err := pricing.TryAcquire(call); err != nil {
			t.Fatal(err)
		}
		downstream, err := pricing.Acquire(ctx, call)
		client.AnnotateClient(ctx, &call, downstream, err)
		span.End()

		ended := sdk.spans.Ended()[0]
		for _, a := range ended.Attributes() {
			if a.Key == otelgate.KeyGateName && a.Value.AsString() != want {
				t.Errorf("%s: the span is of the gate %q, want %q", kind, a.Value.AsString(), want)
			}
		}
		if events := ended.Events(); len(events) != 1 || events[0].Name != otelgate.EventRejected {
			t.Errorf("%s: events %v, want the rejection in any case", kind, events)
		}
	}
}

// TestGateThatAHandlerWaitsForInVainLeavesTheServersSpanAlone has a caller that leaves while the handler's client waits.
func TestGateThatAHandlerWaitsForInVainLeavesTheServersSpanAlone(t *testing.T) {
	for want, gated := range map[string]bool{"db": true, "pricing": false} {
		synctest.Test(t, func(t *testing.T) {
			sdk := newSDK()
			db, pricing := gate.Must(gate.New("db", 1)), gate.Must(gate.New("pricing", 1))
			recorder, err := otelgate.NewRecorder(gate.Chain(db, pricing))
			if err != nil {
				t.Fatal(err)
			}
			ctx, span := sdk.traces.Tracer("test").Start(t.Context(), "call", trace.WithSpanKind(trace.SpanKindServer))
			call := gate.Call{Route: listOpen}
			if gated {
				lease, err := db.Acquire(ctx, call)
				recorder.Annotate(ctx, &call, lease, err)
				ctx = gate.NewContext(ctx, lease, db, &call)
			}
			if _, err := pricing.TryAcquire(call); err != nil {
				t.Fatal(err)
			}
			ctx, leave := context.WithTimeout(ctx, 10*time.Millisecond)
			defer leave()
			time.AfterFunc(time.Millisecond, leave)
			if _, err := pricing.Acquire(ctx, call); !errors.Is(err, context.Canceled) {
				t.Fatalf("got %v, want the caller to leave", err)
			}
			span.End()
			for _, ended := range sdk.spans.Ended() {
				for _, a := range ended.Attributes() {
					if ended.Name() == "call" && a.Key == otelgate.KeyGateName && a.Value.AsString() != want {
						t.Errorf("the span is of the gate %q, want %q", a.Value.AsString(), want)
					}
				}
			}
		})
	}
}
