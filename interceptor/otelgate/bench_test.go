package otelgate_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/otelgate"
)

// ignore is a span processor, so that spans are recorded and thrown away.
type ignore struct{}

func (ignore) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (ignore) OnEnd(sdktrace.ReadOnlySpan)                     {}
func (ignore) Shutdown(context.Context) error                  { return nil }
func (ignore) ForceFlush(context.Context) error                { return nil }

// BenchmarkAccepted is an accepted call. Compare the rows of one kind of span:
// "without" is the gate alone, "SDK alone" the same records and attributes, all
// made beforehand, at a gate that does not know of them: it cannot be done for
// less. The spans are begun and ended outside of the time taken, as a server has
// them anyway, except in the last kind.
func BenchmarkAccepted(b *testing.B) {
	reader := sdkmetric.NewManualReader()
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	for _, kind := range []struct {
		name            string
		spans, lifetime bool
	}{{"no span", false, false}, {"span", true, false}, {"lifetime", true, true}} {
		for _, c := range []struct {
			name string
			opts []otelgate.Option // nil: without a Recorder
			bare bool
		}{
			{name: "without"},
			{name: "SDK alone", bare: true},
			{name: "no SDK", opts: []otelgate.Option{otelgate.WithMeterProvider(noop.NewMeterProvider())}},
			{name: "global, not set", opts: []otelgate.Option{}},
			{name: "metrics", opts: []otelgate.Option{otelgate.WithMeterProvider(meters), otelgate.WithoutSpans()}},
			{name: "all", opts: []otelgate.Option{otelgate.WithMeterProvider(meters)}},
		} {
			b.Run(kind.name+"/"+c.name, func(b *testing.B) {
				calls := callOf(b, c.opts)
				if c.bare {
					calls = bareCall(meters)
				}
				requests(b, reader) // from the first collection on calls are counted for less
				benchmarkCalls(b, kind.spans, kind.lifetime, calls)
			})
		}
	}
}

// callOf is a call at a gate with a Recorder, if there are options for it.
func callOf(b *testing.B, opts []otelgate.Option) func(context.Context) {
	db := gate.Must(gate.New("db", 1000))
	var recorder *otelgate.Recorder
	if opts != nil {
		var err error
		if recorder, err = otelgate.NewRecorder(db, opts...); err != nil {
			b.Fatal(err)
		}
	}
	call := gate.Call{Route: listOpen}
	return func(ctx context.Context) {
		lease, err := gate.AcquireCall(ctx, db, &call)
		if err != nil {
			b.Fatal(err)
		}
		recorder.Annotate(ctx, &call, lease, err)
		lease.Release()
	}
}

// bareCall is a call at a gate, and what a Recorder would have to do for it.
func bareCall(meters *sdkmetric.MeterProvider) func(context.Context) {
	db := gate.Must(gate.New("db", 1000))
	meter := meters.Meter("bare")
	buckets := metric.WithExplicitBucketBoundaries(0, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)
	wait, _ := meter.Float64Histogram(otelgate.MetricWaitDuration, buckets)
	held, _ := meter.Float64Histogram(otelgate.MetricLeaseDuration, buckets)
	set := metric.WithAttributeSet(attribute.NewSet(otelgate.KeyGateName.String("db"),
		otelgate.KeyDecision.String("accepted"), otelgate.KeyMethod.String("orders.v1.OrderService/ListOpen")))
	leaseSet := metric.WithAttributeSet(attribute.NewSet(otelgate.KeyGateName.String("db"),
		otelgate.KeyMethod.String("orders.v1.OrderService/ListOpen")))
	record, release := []metric.RecordOption{set}, []metric.RecordOption{leaseSet}
	call, background := gate.Call{Route: listOpen}, context.Background()
	var requests atomic.Int64
	attrs := []attribute.KeyValue{otelgate.KeyGateName.String("db"), otelgate.KeyDecision.String("accepted"),
		otelgate.KeyWaitedMs.Int64(0), otelgate.KeyInFlight.Int64(1), otelgate.KeyLimit.Int64(1000)}
	return func(ctx context.Context) {
		lease, _ := gate.AcquireCall(ctx, db, &call)
		requests.Add(1)
		wait.Record(background, 0, record...)
		trace.SpanFromContext(ctx).SetAttributes(attrs...)
		lease.Release()
		held.Record(background, 0.000001, release...)
	}
}

func benchmarkCalls(b *testing.B, spans, lifetime bool, call func(context.Context)) {
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(ignore{})).Tracer("bench")
	atStart := trace.WithAttributes(attribute.String("rpc.system.name", "grpc"),
		attribute.String("rpc.method", "orders.v1.OrderService/ListOpen"))
	later := []attribute.KeyValue{attribute.String("server.address", "localhost"), attribute.Int("server.port", 8080),
		attribute.String("network.peer.address", "10.0.0.1"), attribute.Int("network.peer.port", 50000)}
	status := attribute.String("rpc.response.status_code", "OK")

	var ctxs [256]context.Context // of the calls of one batch
	b.ReportAllocs()
	b.ResetTimer()
	for done := 0; done < b.N; done += len(ctxs) {
		clock(b, lifetime)
		for i := range ctxs {
			ctxs[i] = context.Background()
			if spans {
				var span trace.Span
				ctxs[i], span = tracer.Start(context.Background(), "orders.v1.OrderService/ListOpen", atStart)
				span.SetAttributes(later...) // as otelgrpc does
			}
		}
		clock(b, true)
		for _, ctx := range ctxs {
			call(ctx)
		}
		clock(b, lifetime)
		if spans {
			for _, ctx := range ctxs {
				span := trace.SpanFromContext(ctx)
				span.SetAttributes(status)
				span.End()
			}
		}
	}
}

// clock lets the benchmark's clock run or not.
func clock(b *testing.B, runs bool) {
	if runs {
		b.StartTimer()
	} else {
		b.StopTimer()
	}
}

// BenchmarkRoutes finds one route among many: the cost must not grow.
func BenchmarkRoutes(b *testing.B) {
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
	for _, n := range []int{1, otelgate.DefaultMaxRoutes, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			db := gate.Must(gate.New("db", 1000))
			attach(b, db, otelgate.WithMeterProvider(meters))
			ctx := context.Background()
			calls := make([]gate.Call, n)
			for i := range calls {
				calls[i].Route = fmt.Sprintf("/orders.v1.OrderService%d/ListOpen", i)
			}
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				lease, err := db.Acquire(ctx, calls[i])
				if err != nil {
					b.Fatal(err)
				}
				lease.Release()
				i = (i + 1) % n
			}
		})
	}
}
