package otelgate_test

import (
	"context"
	"fmt"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/otelgate"
)

// A gate that is used without an interceptor is shown by Instrument. With a
// global provider the option is not needed.
func ExampleInstrument() {
	reader := sdkmetric.NewManualReader()
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))

	db := gate.Must(gate.New("orders-db", 1, gate.WithMaxWait(0)))
	if err := otelgate.Instrument(db, otelgate.WithMeterProvider(meters)); err != nil {
		fmt.Println(err)
		return
	}

	ctx := context.Background()
	call := gate.Call{Route: "/orders.v1.OrderService/ListOpen"}
	_ = db.Do(ctx, call, func(ctx context.Context) error {
		return db.Do(ctx, call, func(context.Context) error { return nil }) // there is no second unit
	})

	var collected metricdata.ResourceMetrics
	_ = reader.Collect(ctx, &collected)
	for _, m := range collected.ScopeMetrics[0].Metrics {
		if sum, ok := m.Data.(metricdata.Sum[int64]); ok && m.Name == otelgate.MetricRequests {
			for _, p := range sum.DataPoints {
				decision, _ := p.Attributes.Value(otelgate.KeyDecision)
				fmt.Println(m.Name, decision.AsString(), p.Value)
			}
		}
	}
	// Unordered output:
	// gate.requests accepted 1
	// gate.requests rejected_busy 1
}

// An interceptor annotates the span of a call right after Acquire.
func ExampleRecorder_Annotate() {
	spans := tracetest.NewSpanRecorder()
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)).Tracer("server")

	db := gate.Must(gate.New("orders-db", 16))
	recorder, err := otelgate.NewRecorder(db)
	if err != nil {
		fmt.Println(err)
		return
	}

	ctx, span := tracer.Start(context.Background(), "orders.v1.OrderService/ListOpen")
	call := gate.Call{Route: "/orders.v1.OrderService/ListOpen"}
	lease, err := db.Acquire(ctx, call)
	recorder.Annotate(ctx, &call, lease, err)
	lease.Release()
	span.End()

	for _, kv := range spans.Ended()[0].Attributes() {
		fmt.Println(kv.Key, kv.Value.AsInterface())
	}
	// Output:
	// gate.name orders-db
	// gate.decision accepted
	// gate.waited_ms 0
	// gate.in_flight 1
	// gate.limit 16
}

// A stream that takes a lease per message is annotated once.
func ExampleStream() {
	spans := tracetest.NewSpanRecorder()
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)).Tracer("server")

	db := gate.Must(gate.New("orders-db", 16))
	recorder, err := otelgate.NewRecorder(db)
	if err != nil {
		fmt.Println(err)
		return
	}

	ctx, span := tracer.Start(context.Background(), "orders.v1.OrderService/Watch")
	stream := recorder.Stream(ctx)
	for range 100 {
		lease, err := db.Acquire(ctx, gate.Call{Route: "/orders.v1.OrderService/Watch"})
		stream.Message(lease, err)
		lease.Release()
	}
	stream.End()
	span.End()

	got := spans.Ended()[0].Attributes()
	fmt.Println(got[0].Key, got[0].Value.AsInterface())
	// Output:
	// gate.messages 100
}
