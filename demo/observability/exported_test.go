package observability_test

import (
	"context"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rpcgate/rpcgate/demo/telemetry"
	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/otelgate"
)

// exported is what Prometheus gets from a gate that has had events of all kinds.
type exported struct {
	samples  map[string]bool // names of samples, such as gate_wait_duration_seconds_bucket
	families map[string]bool // names without _bucket, _sum and _count
	labels   map[string]bool
}

func scrape(t *testing.T) exported {
	t.Helper()
	for _, name := range []string{"OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER", "OTEL_EXPORTER_OTLP_ENDPOINT",
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"} {
		t.Setenv(name, "")
	}
	seen, err := telemetry.New(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = seen.Shutdown(context.Background()) })
	db := gate.Must(gate.New("db", 1, gate.WithMaxWait(0), gate.WithMaxHold(time.Millisecond)))
	trial := gate.Must(gate.New("trial", 1, gate.WithMaxWait(0), gate.WithDryRun()))
	late := make(chan struct{})
	for _, g := range []*gate.Gate{db, trial} {
		if err := otelgate.Instrument(g, otelgate.WithMeterProvider(seen.Meters)); err != nil {
			t.Fatal(err)
		}
		g.Observe(onHeldTooLong(late)) // hears of it after the metrics do
		call := gate.Call{Route: "/demo.orders.v1.OrderService/ListOpenOrders"}
		lease, err := g.Acquire(t.Context(), call)
		if err != nil {
			t.Fatal(err)
		}
		if second, err := g.Acquire(t.Context(), call); err == nil {
			second.Release()
		}
		defer lease.Release()
	}
	select {
	case <-late:
	case <-time.After(time.Minute):
		t.Fatal("no lease was reported to be held for too long")
	}
	w := httptest.NewRecorder()
	seen.Scraped.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return parse(w.Body.String())
}

// onHeldTooLong is an observer that closes the channel.
type onHeldTooLong chan struct{}

func (onHeldTooLong) Interest(context.Context) gate.Interest {
	return gate.ObserveTrouble | gate.ObserveFixed
}

func (c onHeldTooLong) OnEvent(_ context.Context, e gate.Event) {
	if e.Kind == gate.EventMaxHold {
		close(c)
	}
}

func parse(text string) exported {
	e := exported{samples: map[string]bool{}, families: map[string]bool{}, labels: map[string]bool{}}
	label := regexp.MustCompile(`(\w+)="`)
	for line := range strings.Lines(text) {
		if family, ok := strings.CutPrefix(line, "# TYPE "); ok {
			e.families[strings.Fields(family)[0]] = true
		}
		name, rest, ok := strings.Cut(line, "{")
		if !ok || line[0] == '#' {
			continue
		}
		e.samples[name] = true
		for _, m := range label.FindAllStringSubmatch(rest, -1) {
			e.labels[m[1]] = true
		}
	}
	return e
}
