// Package telemetry has an OpenTelemetry SDK that records everything and exports nothing.
package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"google.golang.org/grpc"

	"github.com/rpcgate/rpcgate/interceptor"
)

// SDK is one program's telemetry.
type SDK struct {
	Meters  *sdkmetric.MeterProvider
	Tracers *sdktrace.TracerProvider
	reader  *sdkmetric.PeriodicReader
}

// interval is short, since otelgate counts calls at less cost once somebody has collected.
const interval = 250 * time.Millisecond

// New makes an SDK that collects all the time, as that of a program does.
func New() *SDK {
	reader := sdkmetric.NewPeriodicReader(nowhere{}, sdkmetric.WithInterval(interval))
	return &SDK{
		Meters:  sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)),
		Tracers: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(discard{})),
		reader:  reader,
	}
}

// Options are for the gate of a server.
func (s *SDK) Options() []interceptor.Option {
	return []interceptor.Option{interceptor.WithMeterProvider(s.Meters), interceptor.WithTracerProvider(s.Tracers)}
}

// OTelGRPC makes the spans and metrics of a grpc-go server.
func (s *SDK) OTelGRPC() grpc.ServerOption {
	return grpc.StatsHandler(otelgrpc.NewServerHandler(
		otelgrpc.WithMeterProvider(s.Meters), otelgrpc.WithTracerProvider(s.Tracers)))
}

// Collect returns all metrics so far.
func (s *SDK) Collect() (metricdata.ResourceMetrics, error) {
	var collected metricdata.ResourceMetrics
	err := s.reader.Collect(context.Background(), &collected)
	return collected, err
}

// Close ends it.
func (s *SDK) Close() {
	_ = s.Meters.Shutdown(context.Background())
	_ = s.Tracers.Shutdown(context.Background())
}

// discard is a span processor for spans that are recorded and not exported.
type discard struct{}

func (discard) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (discard) OnEnd(sdktrace.ReadOnlySpan)                     {}
func (discard) Shutdown(context.Context) error                  { return nil }
func (discard) ForceFlush(context.Context) error                { return nil }

// nowhere is a metric exporter that exports nothing.
type nowhere struct{}

func (nowhere) Temporality(kind sdkmetric.InstrumentKind) metricdata.Temporality {
	return sdkmetric.DefaultTemporalitySelector(kind)
}

func (nowhere) Aggregation(kind sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	return sdkmetric.DefaultAggregationSelector(kind)
}

func (nowhere) Export(context.Context, *metricdata.ResourceMetrics) error { return nil }
func (nowhere) ForceFlush(context.Context) error                          { return nil }
func (nowhere) Shutdown(context.Context) error                            { return nil }
