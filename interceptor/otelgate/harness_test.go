package otelgate_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/rpcgate/rpcgate/gate"
)

const (
	listOpen = "/orders.v1.OrderService/ListOpen"
	hold     = "/orders.v1.OrderService/Hold" // of the calls that are in the way
)

// sdk is a meter and a tracer provider in memory.
type sdk struct {
	meters *sdkmetric.MeterProvider
	reader *sdkmetric.ManualReader
	traces *sdktrace.TracerProvider
	spans  *tracetest.SpanRecorder
}

func newSDK() *sdk {
	s := &sdk{reader: sdkmetric.NewManualReader(), spans: tracetest.NewSpanRecorder()}
	s.meters = sdkmetric.NewMeterProvider(sdkmetric.WithReader(s.reader))
	s.traces = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(s.spans))
	return s
}

// scopes collects the metrics.
func (s *sdk) scopes(t testing.TB) []metricdata.ScopeMetrics {
	t.Helper()
	var rm metricdata.ResourceMetrics
	if err := s.reader.Collect(context.Background(), &rm); err != nil {
		t.Fatal(err)
	}
	return rm.ScopeMetrics
}

// metrics collects the metrics as lines like "gate.limit{gate.name=db} 1", and
// those of histograms like "… 2 in 0.03s".
func (s *sdk) metrics(t testing.TB) []string {
	t.Helper()
	var lines []string
	line := func(name string, set attribute.Set, format string, values ...any) {
		lines = append(lines, fmt.Sprintf("%s{%s} "+format,
			append([]any{name, set.Encoded(attribute.DefaultEncoder())}, values...)...))
	}
	for _, scope := range s.scopes(t) {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					line(m.Name, p.Attributes, "%d", p.Value)
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					line(m.Name, p.Attributes, "%d in %.4gs", p.Count, p.Sum)
				}
			default:
				t.Fatalf("%s is a %T", m.Name, data)
			}
		}
	}
	slices.Sort(lines)
	return lines
}

// about keeps the lines in which one of the strings is.
func about(lines []string, parts ...string) []string {
	var kept []string
	for _, l := range lines {
		if slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(l, part) }) {
			kept = append(kept, l)
		}
	}
	return kept
}

func wantLines(t testing.TB, got []string, want ...string) {
	t.Helper()
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// attrs is a set of attributes in a form that reads well in tables and reports.
type attrs map[string]any

func attrsOf(kvs []attribute.KeyValue) attrs {
	m := attrs{}
	for _, kv := range kvs {
		m[string(kv.Key)] = kv.Value.AsInterface()
	}
	return m
}

func wantAttrs(t testing.TB, what string, got []attribute.KeyValue, want attrs) {
	t.Helper()
	if !maps.Equal(attrsOf(got), want) {
		t.Errorf("%s has\n\t%v\nwant\n\t%v", what, attrsOf(got), want)
	}
}

// scenario is one call at a gate, and what must be said about it.
type scenario struct {
	name   string
	limit  int64 // 0: 1
	opts   []gate.Option
	before func(t *testing.T, g *gate.Gate)                            // nil: nothing
	under  func(context.Context) (context.Context, context.CancelFunc) // the call's context; nil: as it is

	decision, reason string
	waited           time.Duration
	inFlight         int64
	dryRun           bool
}

// occupy takes a unit of the gate for the time d.
func occupy(d time.Duration) func(*testing.T, *gate.Gate) {
	return func(t *testing.T, g *gate.Gate) {
		l, err := g.Acquire(context.Background(), gate.Call{Route: hold, Key: "k"})
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(d, l.Release)
	}
}

// scenarios are all the ways that a call can go.
func scenarios() []scenario {
	dryRun := []gate.Option{gate.WithDryRun(), gate.WithMaxWait(0)}
	return []scenario{
		{name: "free", decision: "accepted", inFlight: 1},
		{name: "waited", before: occupy(30 * time.Millisecond),
			decision: "accepted", waited: 30 * time.Millisecond, inFlight: 1},
		{name: "limit", opts: []gate.Option{gate.WithMaxWait(0)}, before: occupy(time.Second),
			decision: "rejected_busy", reason: "limit", inFlight: 1},
		{name: "queue full", opts: []gate.Option{gate.WithMaxWaiting(1)}, before: func(t *testing.T, g *gate.Gate) {
			occupy(time.Second)(t, g)
			go g.Acquire(context.Background(), gate.Call{Route: hold})
			synctest.Wait()
		}, decision: "rejected_busy", reason: "queue_full", inFlight: 1},
		{name: "wait timeout", before: occupy(time.Second),
			decision: "rejected_timeout", reason: "wait_timeout", waited: 100 * time.Millisecond, inFlight: 1},
		{name: "key limit", limit: 2, opts: []gate.Option{gate.WithKeyLimit(1)}, before: occupy(time.Second),
			decision: "rejected_busy", reason: "key_limit", inFlight: 1},
		{name: "deadline", before: occupy(time.Second), under: func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, time.Millisecond)
		}, decision: "rejected_busy", reason: "deadline", inFlight: 1},
		{name: "draining", before: func(t *testing.T, g *gate.Gate) {
			if err := g.Drain(context.Background()); err != nil {
				t.Fatal(err)
			}
		}, decision: "rejected_busy", reason: "draining"},
		{name: "gone before", under: func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return ctx, cancel
		}, decision: "abandoned"},
		{name: "gone waiting", before: occupy(time.Second), under: func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(20*time.Millisecond, cancel)
			return ctx, cancel
		}, decision: "abandoned", waited: 20 * time.Millisecond, inFlight: 1},
		{name: "dry run free", opts: dryRun, decision: "accepted", inFlight: 1, dryRun: true},
		{name: "dry run limit", opts: dryRun, before: occupy(time.Second),
			decision: "rejected_busy", reason: "limit", inFlight: 2, dryRun: true},
	}
}

// play makes the scenario's gate, lets attach see it, and makes the call.
func (s scenario) play(t *testing.T, ctx context.Context, call gate.Call, attach func(*gate.Gate)) (
	acquired context.Context, lease gate.Lease, err error) {
	t.Helper()
	g := gate.Must(gate.New("db", max(s.limit, 1), s.opts...))
	attach(g)
	// Whoever was in the way must be gone before the bubble ends.
	t.Cleanup(func() { time.Sleep(2 * time.Second) })
	if s.before != nil {
		s.before(t, g)
	}
	if s.under != nil {
		var cancel context.CancelFunc
		ctx, cancel = s.under(ctx)
		t.Cleanup(cancel)
	}
	lease, err = g.Acquire(ctx, call)
	return ctx, lease, err
}

// attrs are those of the call's span.
func (s scenario) attrs() attrs {
	want := attrs{"gate.name": "db", "gate.decision": s.decision, "gate.waited_ms": s.waited.Milliseconds(),
		"gate.in_flight": s.inFlight, "gate.limit": max(s.limit, 1)}
	if s.reason != "" {
		want["gate.reason"] = s.reason
	}
	if s.dryRun {
		want["gate.dry_run"] = true
	}
	return want
}

// rejected reports whether the caller gets a Rejection.
func (s scenario) rejected() bool { return strings.HasPrefix(s.decision, "rejected") && !s.dryRun }
