package calls

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/rpcgate/rpcgate/interceptor/otelgate"
	"github.com/rpcgate/rpcgate/internal/bench/telemetry"
)

// The floor is of use only as long as it tells the same as the interceptor.
func TestByHandTellsWhatTheInterceptorTells(t *testing.T) {
	err := inGRPC(func(i *inside) {
		gotMetrics, gotAttrs := toldBy(t, func(to told) { i.pairs(to)[0].with(1) })
		wantMetrics, wantAttrs := toldBy(t, func(to told) { to.call(i.grpc.ctx, byHand(to.sdk.Meters)) })
		if len(wantMetrics) != 3 || !maps.Equal(gotMetrics, wantMetrics) {
			t.Errorf("metrics of grpcgate\n\t%v, by hand\n\t%v", gotMetrics, wantMetrics)
		}
		if len(wantAttrs) != 5 || !slices.Equal(gotAttrs, wantAttrs) {
			t.Errorf("attributes of the span of grpcgate\n\t%v, by hand\n\t%v", gotAttrs, wantAttrs)
		}
	})
	if err != nil {
		t.Error(err)
	}
}

// toldBy returns what one call tells: metrics as text by their names, and the attributes of the span.
func toldBy(t *testing.T, call func(told)) (metrics map[string]string, attrs []attribute.KeyValue) {
	t.Helper()
	sdk, spans := telemetry.New(), tracetest.NewSpanRecorder()
	defer sdk.Close()
	call(told{sdk, sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)).Tracer("test")})
	collected, err := sdk.Collect()
	if err != nil {
		t.Error(err)
	}
	metrics = map[string]string{}
	for _, scope := range collected.ScopeMetrics {
		for _, m := range scope.Metrics {
			if text, ok := perCall(m); ok {
				metrics[m.Name] = text
			}
		}
	}
	return metrics, spans.Ended()[0].Attributes()
}

// perCall is a metric that calls are counted or recorded in.
func perCall(m metricdata.Metrics) (text string, ok bool) {
	enc := attribute.DefaultEncoder()
	switch data := m.Data.(type) {
	case metricdata.Sum[int64]:
		if m.Name != otelgate.MetricRequests {
			return "", false // it is observed of the gate, whatever calls do
		}
		p := data.DataPoints[0]
		return fmt.Sprint(p.Attributes.Encoded(enc), p.Value), true
	case metricdata.Histogram[float64]:
		p := data.DataPoints[0]
		return fmt.Sprint(p.Attributes.Encoded(enc), p.Count, p.Bounds), true
	}
	return "", false
}
