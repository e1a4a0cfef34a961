package otelgate_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/otelgate"
)

// wantCallSpan checks the span of a call, its event and its child, against the
// scenario.
func (s scenario) wantCallSpan(t *testing.T, spans []sdktrace.ReadOnlySpan, want attrs) {
	t.Helper()
	call := spans[len(spans)-1]
	wantAttrs(t, "the span", call.Attributes(), want)

	if events := call.Events(); !s.rejected() {
		if len(events) != 0 {
			t.Errorf("events %v, want none", events)
		}
	} else if len(events) != 1 || events[0].Name != "gate.rejected" {
		t.Errorf("events %v, want one gate.rejected", events)
	} else {
		wantAttrs(t, "the event", events[0].Attributes, attrs{"gate.name": "db", "gate.reason": s.reason})
	}

	children := spans[:len(spans)-1]
	if want["gate.waited_ms"] == nil || want["gate.waited_ms"] == int64(0) {
		if len(children) != 0 {
			t.Errorf("%d child spans, want none", len(children))
		}
		return
	}
	if len(children) != 1 {
		t.Fatalf("%d child spans, want one", len(children))
	}
	wait := children[0]
	if wait.Name() != "gate.wait" || wait.Parent().SpanID() != call.SpanContext().SpanID() {
		t.Errorf("child %q of %v", wait.Name(), wait.Parent().SpanID())
	}
	if d := wait.EndTime().Sub(wait.StartTime()); d != s.waited || !wait.StartTime().Equal(call.StartTime()) {
		t.Errorf("the child covers %s from %s on, want %s", d, wait.StartTime().Sub(call.StartTime()), s.waited)
	}
	if scope := wait.InstrumentationScope(); scope.Name != otelgate.ScopeName || scope.Version == "" {
		t.Errorf("scope %+v", scope)
	}
	attrs := attrs{"gate.name": "db", "gate.decision": s.decision, "rpc.method": "orders.v1.OrderService/ListOpen"}
	if s.reason != "" {
		attrs["gate.reason"] = s.reason
	}
	wantAttrs(t, "the child", wait.Attributes(), attrs)
}

func TestEveryOutcomeIsAnnotated(t *testing.T) {
	for _, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sdk, recorder := newSDK(), (*otelgate.Recorder)(nil)
				ctx, span := sdk.traces.Tracer("test").Start(t.Context(), "call")
				call := gate.Call{Route: listOpen, Key: "k", RequestID: "r1"}
				ctx, lease, err := s.play(t, ctx, call, func(g *gate.Gate) {
					var err error
					if recorder, err = otelgate.NewRecorder(g); err != nil {
						t.Fatal(err)
					}
				})
				recorder.Annotate(ctx, &call, lease, err)
				span.End()

				want := s.attrs()
				if s.rejected() {
					want["gate.request_id"] = "r1"
				}
				if s.name == "gone before" { // it never came to the gate
					want = attrs{"gate.name": "db", "gate.decision": "abandoned"}
				}
				s.wantCallSpan(t, sdk.spans.Ended(), want)
			})
		})
	}
}

func TestBareGatesAnnotateEveryOutcome(t *testing.T) {
	for _, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sdk := newSDK()
				ctx, span := sdk.traces.Tracer("test").Start(t.Context(), "call")
				call := gate.Call{Route: listOpen, Key: "k", RequestID: "r1"}
				_, lease, _ := s.play(t, ctx, call, func(g *gate.Gate) {
					for range 2 { // the second time adds nothing
						if err := otelgate.Instrument(g); err != nil {
							t.Fatal(err)
						}
					}
				})
				lease.Release()
				span.End()

				want := s.attrs()
				if s.rejected() {
					want["gate.request_id"] = "r1"
				}
				s.wantCallSpan(t, sdk.spans.Ended(), want)
			})
		})
	}
}

func TestDryRunTellsOfTheWaitThatWasNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sdk := newSDK()
		db := gate.Must(gate.New("db", 1, gate.WithDryRun()))
		if err := otelgate.Instrument(db, otelgate.WithMeterProvider(sdk.meters)); err != nil {
			t.Fatal(err)
		}
		occupy(30*time.Millisecond)(t, db)
		ctx, span := sdk.traces.Tracer("test").Start(t.Context(), "call")
		if _, err := db.Acquire(ctx, gate.Call{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		span.End()
		if spans := sdk.spans.Ended(); len(spans) != 1 {
			t.Fatalf("%d spans, want the call's only: it did not wait", len(spans))
		}
		wantAttrs(t, "the span", sdk.spans.Ended()[0].Attributes(), attrs{"gate.name": "db", "gate.decision": "accepted",
			"gate.waited_ms": int64(30), "gate.in_flight": int64(1), "gate.limit": int64(1), "gate.dry_run": true})
	})
}

func TestTheGateThatKeptTheCallWaitingIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sdk := newSDK()
		reports, db := gate.Must(gate.New("reports", 1)), gate.Must(gate.New("db", 2))
		chain := gate.Chain(db, reports)
		recorder, err := otelgate.NewRecorder(chain)
		if err != nil {
			t.Fatal(err)
		}
		occupy(20*time.Millisecond)(t, reports)
		occupy(50*time.Millisecond)(t, db)
		occupy(80*time.Millisecond)(t, db)
		ctx, span := sdk.traces.Tracer("test").Start(t.Context(), "call")
		lease, err := chain.Acquire(ctx, gate.Call{UnknownRoute: true})
		recorder.Annotate(ctx, &gate.Call{UnknownRoute: true}, lease, err)
		span.End()
		spans := sdk.spans.Ended()
		wantAttrs(t, "the span", spans[1].Attributes(), attrs{"gate.name": "db", "gate.decision": "accepted",
			"gate.waited_ms": int64(50), "gate.in_flight": int64(2), "gate.limit": int64(2)})
		wantAttrs(t, "the child", spans[0].Attributes(),
			attrs{"gate.name": "db", "gate.decision": "accepted", "rpc.method": "_OTHER"})
	})
}

func TestNothingIsSaid(t *testing.T) {
	sdk := newSDK()
	db := gate.Must(gate.New("db", 1))
	lease, err := db.Acquire(context.Background(), gate.Call{})
	if err != nil {
		t.Fatal(err)
	}
	recorder := func(opts ...otelgate.Option) *otelgate.Recorder {
		r, err := otelgate.NewRecorder(db, opts...)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for name, c := range map[string]struct {
		recorder *otelgate.Recorder
		lease    gate.Lease
		err      error
	}{
		"exempt":         {recorder(), gate.Lease{}, nil},
		"another error":  {recorder(), gate.Lease{}, errors.New("no")},
		"no recorder":    {nil, lease, nil},
		"without spans":  {recorder(otelgate.WithoutSpans()), lease, nil},
		"without, error": {recorder(otelgate.WithoutSpans()), lease, context.Canceled},
	} {
		ctx, span := sdk.traces.Tracer("test").Start(context.Background(), name)
		c.recorder.Annotate(ctx, &gate.Call{}, c.lease, c.err)
		stream := c.recorder.Stream(ctx)
		stream.Message(c.lease, c.err)
		stream.End()
		span.End()
		c.recorder.Annotate(ctx, &gate.Call{}, lease, nil) // the span has ended
	}
	for _, span := range sdk.spans.Ended() {
		if len(span.Attributes())+len(span.Events()) != 0 {
			t.Errorf("%s: %v %v", span.Name(), span.Attributes(), span.Events())
		}
	}
}

func TestWrappedRejectionsAreUnderstood(t *testing.T) {
	sdk := newSDK()
	recorder, err := otelgate.NewRecorder(gate.Must(gate.New("db", 1)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, span := sdk.traces.Tracer("test").Start(context.Background(), "call")
	r := &gate.Rejection{Gate: "other", Decision: gate.RejectedBusy, Reason: gate.ReasonLimit, InFlight: 3, Limit: 3, RequestID: "r1"}
	recorder.Annotate(ctx, &gate.Call{}, gate.Lease{}, fmt.Errorf("admission: %w", r))
	span.End()
	wantAttrs(t, "the span", sdk.spans.Ended()[0].Attributes(), attrs{"gate.name": "other", "gate.decision": "rejected_busy",
		"gate.reason": "limit", "gate.waited_ms": int64(0), "gate.in_flight": int64(3), "gate.limit": int64(3), "gate.request_id": "r1"})
}

func TestTheChildSpanGoesWhereItIsTold(t *testing.T) {
	for name, host := range map[string]bool{"host": true, "bare": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				here, there := newSDK(), newSDK()
				db, to := gate.Must(gate.New("db", 1)), otelgate.WithTracerProvider(there.traces)
				recorder, err := otelgate.NewRecorder(db, to)
				if !host {
					recorder, err = nil, otelgate.Instrument(db, to)
				}
				if err != nil {
					t.Fatal(err)
				}
				occupy(20*time.Millisecond)(t, db)
				ctx, span := here.traces.Tracer("test").Start(t.Context(), "call")
				lease, err := db.Acquire(ctx, gate.Call{})
				recorder.Annotate(ctx, &gate.Call{}, lease, err)
				span.End()
				if h, th := len(here.spans.Ended()), len(there.spans.Ended()); h != 1 || th != 1 {
					t.Errorf("%d spans here and %d there, want one each", h, th)
				}
			})
		})
	}
}

func TestSpansThatAreNotSampledCostNothing(t *testing.T) {
	db := gate.Must(gate.New("db", 1))
	recorder, err := otelgate.NewRecorder(db)
	if err != nil {
		t.Fatal(err)
	}
	lease, err := db.Acquire(context.Background(), gate.Call{})
	if err != nil {
		t.Fatal(err)
	}
	remote := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}})
	never := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample()))
	unsampled, _ := never.Tracer("test").Start(context.Background(), "call")
	for name, ctx := range map[string]context.Context{
		"no span":   context.Background(),
		"remote":    trace.ContextWithRemoteSpanContext(context.Background(), remote),
		"unsampled": unsampled,
	} {
		if n := testing.AllocsPerRun(100, func() {
			recorder.Annotate(ctx, &gate.Call{Route: listOpen}, lease, nil)
			stream := recorder.Stream(ctx)
			stream.Message(lease, nil)
			stream.End()
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func TestAttributesAreAddedToThoseOfTheSpan(t *testing.T) {
	sdk := newSDK()
	db := gate.Must(gate.New("db", 2))
	recorder, err := otelgate.NewRecorder(db)
	if err != nil {
		t.Fatal(err)
	}
	ctx, span := sdk.traces.Tracer("test").Start(context.Background(), "call",
		trace.WithAttributes(attribute.String("rpc.method", "orders.v1.OrderService/ListOpen")))
	lease, err := db.Acquire(ctx, gate.Call{})
	for range 2 { // said twice, it is there once
		recorder.Annotate(ctx, &gate.Call{}, lease, err)
	}
	span.End()
	want := attrs{"rpc.method": "orders.v1.OrderService/ListOpen"}
	maps.Copy(want, attrs{"gate.name": "db", "gate.decision": "accepted",
		"gate.waited_ms": int64(0), "gate.in_flight": int64(1), "gate.limit": int64(2)})
	wantAttrs(t, "the span", sdk.spans.Ended()[0].Attributes(), want)
}

// TestTheSpanOfACallThatWasWrittenDownHasItsId has an observer as gatelog is, and one call that it does not write down.
func TestTheSpanOfACallThatWasWrittenDownHasItsId(t *testing.T) {
	for _, written := range []bool{true, false} {
		for _, sent := range []string{"req-17", ""} {
			sdk := newSDK()
			var id string
			g := gate.Must(gate.New("db", 1, gate.WithOnEvent(func(ctx context.Context, e gate.Event) {
				if e.Kind == gate.EventDecision && written {
					id = e.Identified(ctx).RequestID
				}
			})))
			r, err := otelgate.NewRecorder(g, otelgate.WithMeterProvider(sdk.meters), otelgate.WithTracerProvider(sdk.traces))
			if err != nil {
				t.Fatal(err)
			}
			ctx, span := sdk.traces.Tracer("test").Start(t.Context(), "call")
			call := gate.Call{Route: listOpen, RequestID: sent}
			lease, err := g.Acquire(ctx, call)
			r.Annotate(ctx, &call, lease, err)
			lease.Release()
			span.End()
			var got string
			for _, a := range sdk.spans.Ended()[0].Attributes() {
				if a.Key == otelgate.KeyRequestID {
					got = a.Value.AsString()
				}
			}
			if got != id || written == (got == "") || written && sent != "" && got != sent {
				t.Errorf("client sent %q, written down as %q (%t): the span has the id %q", sent, id, written, got)
			}
		}
	}
}
