package telemetry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/otlptranslator"
	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// ServiceName is the demo's name in backends, unless OTEL_SERVICE_NAME sets another one.
const ServiceName = "rpcgate-demo"

// Telemetry has the providers.
type Telemetry struct {
	Meters  *sdkmetric.MeterProvider
	Traces  *sdktrace.TracerProvider
	Scraped http.Handler // the metrics, for Prometheus
}

// New makes the providers. The environment configures them.
func New(ctx context.Context) (*Telemetry, error) {
	res, err := resource.New(ctx,
		resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", ServiceName)),
		resource.WithFromEnv()) // the last one wins
	if err != nil {
		return nil, fmt.Errorf("telemetry resource: %w", err)
	}
	t := new(Telemetry)
	if t.Traces, err = newTraces(ctx, res); err != nil {
		return nil, err
	}
	if t.Meters, t.Scraped, err = newMeters(ctx, res); err != nil {
		return nil, errors.Join(err, t.Traces.Shutdown(ctx))
	}
	return t, nil
}

// SetGlobal makes the providers the global ones, which libraries find.
func (t *Telemetry) SetGlobal() {
	otel.SetTracerProvider(t.Traces)
	otel.SetMeterProvider(t.Meters)
	otel.SetTextMapPropagator(propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}))
}

// Shutdown sends the last spans and metrics.
func (t *Telemetry) Shutdown(ctx context.Context) error {
	if err := errors.Join(t.Traces.Shutdown(ctx), t.Meters.Shutdown(ctx)); err != nil {
		return fmt.Errorf("send the last spans and metrics: %w", err)
	}
	return nil
}

// newTraces returns a provider of spans. They have ids, for the logs and the live page, even if they are not exported.
func newTraces(ctx context.Context, res *resource.Resource) (*sdktrace.TracerProvider, error) {
	opts := []sdktrace.TracerProviderOption{sdktrace.WithResource(res)}
	if wanted("TRACES") {
		exporter, err := autoexport.NewSpanExporter(ctx)
		if err != nil {
			return nil, exportError("TRACES", err)
		}
		if !autoexport.IsNoneSpanExporter(exporter) {
			opts = append(opts, sdktrace.WithBatcher(exporter))
		}
	}
	return sdktrace.NewTracerProvider(opts...), nil
}

func newMeters(ctx context.Context, res *resource.Resource) (*sdkmetric.MeterProvider, http.Handler, error) {
	registry := prometheus.NewRegistry()
	scraped, err := otelprometheus.New(otelprometheus.WithRegisterer(registry),
		// Names that every version of Prometheus accepts: gate.wait.duration becomes gate_wait_duration_seconds.
		otelprometheus.WithTranslationStrategy(otlptranslator.UnderscoreEscapingWithSuffixes))
	if err != nil {
		return nil, nil, fmt.Errorf("metrics for Prometheus: %w", err)
	}
	opts := []sdkmetric.Option{sdkmetric.WithResource(res), sdkmetric.WithReader(scraped)}
	if wanted("METRICS") {
		reader, err := autoexport.NewMetricReader(ctx)
		if err != nil {
			return nil, nil, exportError("METRICS", err)
		}
		opts = append(opts, sdkmetric.WithReader(reader))
	}
	handler := promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true}) // with exemplars
	return sdkmetric.NewMeterProvider(opts...), handler, nil
}

// exportError names the variable that is most likely wrong: the errors of the exporters do not.
func exportError(signal string, err error) error {
	name := "OTEL_" + signal + "_EXPORTER"
	return fmt.Errorf("%s=%q: %w", name, os.Getenv(name), err)
}

// wanted reports whether the environment says where to send the signal. By default the exporters dial localhost, which
// users who only start a demo do not expect.
func wanted(signal string) bool {
	if os.Getenv("OTEL_SDK_DISABLED") == "true" {
		return false
	}
	for _, name := range []string{
		"OTEL_" + signal + "_EXPORTER", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_" + signal + "_ENDPOINT",
	} {
		if os.Getenv(name) != "" {
			return true
		}
	}
	return false
}
