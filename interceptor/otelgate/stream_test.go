package otelgate_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/otelgate"
)

func TestAStreamHasOneSetOfAttributes(t *testing.T) {
	timeout := &gate.Rejection{Gate: "db", Decision: gate.RejectedTimeout, Reason: gate.ReasonWaitTimeout,
		Waited: 100 * time.Millisecond, InFlight: 1, Limit: 1, RequestID: "r1"}
	full := &gate.Rejection{Gate: "db", Decision: gate.RejectedBusy, Reason: gate.ReasonQueueFull,
		Waited: time.Second, RequestID: "r2"}
	rejected := attrs{"gate.name": "db", "gate.decision": "rejected_timeout", "gate.reason": "wait_timeout",
		"gate.waited_ms": int64(100), "gate.in_flight": int64(1), "gate.limit": int64(1), "gate.request_id": "r1"}
	accepted := func(waited int64) attrs {
		return attrs{"gate.name": "db", "gate.decision": "accepted",
			"gate.waited_ms": waited, "gate.in_flight": int64(1), "gate.limit": int64(1)}
	}
	for _, c := range []struct {
		name     string
		messages []message
		want     attrs
		events   int
	}{
		{name: "no messages", want: attrs{}},
		{name: "never waited", messages: make([]message, 1000), want: accepted(0)},
		{name: "longest wait", want: accepted(40),
			messages: []message{{}, {held: 20 * time.Millisecond}, {held: 40 * time.Millisecond}, {held: 30 * time.Millisecond}, {}}},
		{name: "the first rejection wins", messages: []message{{held: 40 * time.Millisecond}, {err: timeout}, {err: full}, {}},
			want: rejected, events: 1},
		{name: "rejected before gone", messages: []message{{err: context.Canceled}, {err: timeout}, {err: context.Canceled}},
			want: rejected, events: 1},
		{name: "gone", messages: []message{{}, {err: context.Canceled}},
			want: attrs{"gate.name": "db", "gate.decision": "abandoned"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				span := playStream(t, c.messages)
				if len(span.Events()) != c.events {
					t.Errorf("events %v, want %d", span.Events(), c.events)
				}
				if n := len(c.messages); n > 0 {
					c.want["gate.messages"] = int64(n)
				}
				wantAttrs(t, "the span", span.Attributes(), c.want)
				if set := attribute.NewSet(span.Attributes()...); set.Len() != len(span.Attributes()) {
					t.Errorf("attributes are said twice: %v", span.Attributes())
				}
			})
		})
	}
}

// message is one message of a stream.
type message struct {
	held time.Duration // by somebody else, when it comes
	err  error         // instead of an Acquire
}

// playStream returns the span of a stream with the messages. It has no children.
func playStream(t *testing.T, messages []message) sdktrace.ReadOnlySpan {
	sdk := newSDK()
	db := gate.Must(gate.New("db", 1))
	recorder, err := otelgate.NewRecorder(db)
	if err != nil {
		t.Fatal(err)
	}
	ctx, span := sdk.traces.Tracer("test").Start(t.Context(), "stream")
	stream := recorder.Stream(ctx)
	for _, m := range messages {
		if m.err != nil {
			stream.Message(gate.Lease{}, m.err)
			continue
		}
		if m.held > 0 {
			occupy(m.held)(t, db)
		}
		lease, err := db.Acquire(ctx, gate.Call{})
		stream.Message(lease, err)
		lease.Release()
	}
	stream.End()
	span.End()
	spans := sdk.spans.Ended()
	if len(spans) != 1 {
		t.Fatalf("%d spans, want one", len(spans))
	}
	return spans[0]
}

func TestAStreamThatEndsInAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sdk := newSDK()
		db := gate.Must(gate.New("db", 1))
		recorder, err := otelgate.NewRecorder(db)
		if err != nil {
			t.Fatal(err)
		}
		ctx, span := sdk.traces.Tracer("test").Start(t.Context(), "stream")
		ctx, cancel := context.WithCancel(ctx)
		stream := recorder.Stream(ctx)
		for range 3 {
			lease, err := db.Acquire(ctx, gate.Call{})
			stream.Message(lease, err)
			lease.Release()
		}
		occupy(time.Second)(t, db)
		time.AfterFunc(20*time.Millisecond, cancel)
		stream.Message(db.Acquire(ctx, gate.Call{}))
		stream.End()
		span.End()
		time.Sleep(time.Second) // until nobody occupies the gate
		spans := sdk.spans.Ended()
		if len(spans) != 2 || spans[0].Name() != "gate.wait" {
			t.Fatalf("%d spans, want the stream's and that of the wait", len(spans))
		}
		wantAttrs(t, "the span", spans[1].Attributes(), attrs{"gate.name": "db", "gate.decision": "abandoned",
			"gate.waited_ms": int64(20), "gate.in_flight": int64(1), "gate.limit": int64(1), "gate.messages": int64(4)})
	})
}

func TestAStreamOfADryRunTellsOfARejection(t *testing.T) {
	sdk := newSDK()
	db := gate.Must(gate.New("db", 1, gate.WithDryRun(), gate.WithMaxWait(0)))
	recorder, err := otelgate.NewRecorder(db)
	if err != nil {
		t.Fatal(err)
	}
	ctx, span := sdk.traces.Tracer("test").Start(context.Background(), "stream")
	stream := recorder.Stream(ctx)
	for range 3 {
		lease, err := db.Acquire(ctx, gate.Call{})
		stream.Message(lease, err)
		defer lease.Release()
	}
	stream.End()
	span.End()
	got := sdk.spans.Ended()[0]
	wantAttrs(t, "the span", got.Attributes(), attrs{"gate.name": "db", "gate.decision": "rejected_busy", "gate.reason": "limit",
		"gate.waited_ms": int64(0), "gate.in_flight": int64(2), "gate.limit": int64(1), "gate.dry_run": true, "gate.messages": int64(3)})
	if len(got.Events()) != 0 {
		t.Errorf("events %v, but nothing was rejected", got.Events())
	}
}

func TestAStreamOfAnInstrumentedGateHasOneEventToo(t *testing.T) {
	sdk := newSDK()
	db := gate.Must(gate.New("db", 1, gate.WithMaxWait(0)))
	recorder, err := otelgate.NewRecorder(db)
	if err != nil {
		t.Fatal(err)
	}
	if err := otelgate.Instrument(db); err != nil {
		t.Fatal(err)
	}
	ctx, span := sdk.traces.Tracer("test").Start(context.Background(), "stream")
	stream := recorder.Stream(ctx)
	for range 2 {
		lease, err := db.Acquire(ctx, gate.Call{})
		stream.Message(lease, err)
		defer lease.Release()
	}
	stream.End()
	span.End()
	if events := sdk.spans.Ended()[0].Events(); len(events) != 1 {
		t.Errorf("events %v, want one", events)
	}
}
