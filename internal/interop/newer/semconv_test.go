package newer

import (
	"context"
	"testing"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/otelgate"
)

// TestNamesOfTheConventions checks that the schema which otelgate names has the attributes that it uses.
func TestNamesOfTheConventions(t *testing.T) {
	reader := metric.NewManualReader()
	g := gate.Must(gate.New("db", 1))
	err := otelgate.Instrument(g, otelgate.WithMeterProvider(metric.NewMeterProvider(metric.WithReader(reader))))
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Do(t.Context(), gate.Call{Route: "/a.A/A"}, func(context.Context) error { return nil }); err != nil {
		t.Fatal(err)
	}
	var collected metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &collected); err != nil {
		t.Fatal(err)
	}
	if len(collected.ScopeMetrics) != 1 || collected.ScopeMetrics[0].Scope.SchemaURL != semconv.SchemaURL {
		t.Errorf("want one scope with the schema %s, got %+v", semconv.SchemaURL, collected.ScopeMetrics)
	}
	if otelgate.KeyMethod != semconv.RPCMethodKey {
		t.Errorf("the method is %s, want %s", otelgate.KeyMethod, semconv.RPCMethodKey)
	}
}
