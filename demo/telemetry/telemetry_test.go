package telemetry_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	collectormetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collectortrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/rpcgate/rpcgate/demo/telemetry"
)

// clearEnv unsets OpenTelemetry's variables for the test.
func clearEnv(t *testing.T) {
	t.Helper()
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "OTEL_") {
			t.Setenv(name, "")
		}
	}
}

// collector is an OTLP endpoint that keeps the names of the spans and metrics it receives.
type collector struct {
	mu             sync.Mutex
	spans, metrics []string
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var traces collectortrace.ExportTraceServiceRequest
	var metrics collectormetrics.ExportMetricsServiceRequest
	switch r.URL.Path {
	case "/v1/traces":
		err = proto.Unmarshal(body, &traces)
		for _, of := range traces.GetResourceSpans() {
			for _, scope := range of.GetScopeSpans() {
				for _, span := range scope.GetSpans() {
					c.spans = append(c.spans, span.GetName())
				}
			}
		}
	case "/v1/metrics":
		err = proto.Unmarshal(body, &metrics)
		for _, of := range metrics.GetResourceMetrics() {
			for _, scope := range of.GetScopeMetrics() {
				for _, metric := range scope.GetMetrics() {
					c.metrics = append(c.metrics, metric.GetName())
				}
			}
		}
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
}

func record(t *testing.T, seen *telemetry.Telemetry) {
	t.Helper()
	_, span := seen.Traces.Tracer("test").Start(t.Context(), "last call")
	span.End()
	counter, err := seen.Meters.Meter("test").Int64Counter("last.count")
	if err != nil {
		t.Fatal(err)
	}
	counter.Add(t.Context(), 1)
}

func TestShutdownSendsWhatIsLeft(t *testing.T) {
	clearEnv(t)
	got := &collector{}
	endpoint := httptest.NewServer(got)
	defer endpoint.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.URL)
	seen, err := telemetry.New(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	record(t, seen)
	if err := seen.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(got.spans, "last call") || !slices.Contains(got.metrics, "last.count") {
		t.Errorf("the collector got the spans %q and the metrics %q", got.spans, got.metrics)
	}
}

func TestNothingIsSentUnlessTheEnvironmentSaysSo(t *testing.T) {
	clearEnv(t)
	seen, err := telemetry.New(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	record(t, seen)
	w := httptest.NewRecorder()
	seen.Scraped.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if !strings.Contains(w.Body.String(), "last_count_total{") {
		t.Errorf("Prometheus does not find the counter in\n%s", w.Body)
	}
	if err := seen.Shutdown(context.Background()); err != nil {
		t.Errorf("shutdown without a backend: %v", err)
	}
}

func TestUnknownExporterIsAnError(t *testing.T) {
	clearEnv(t)
	t.Setenv("OTEL_TRACES_EXPORTER", "carrier-pigeon")
	if _, err := telemetry.New(t.Context()); err == nil || !strings.Contains(err.Error(), "carrier-pigeon") {
		t.Errorf("got error %v, want one that names the exporter", err)
	}
}
