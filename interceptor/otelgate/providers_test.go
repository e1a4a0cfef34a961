package otelgate_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/otelgate"
)

const (
	oneRequest = "gate.requests{gate.decision=accepted,gate.name=db,rpc.method=orders.v1.OrderService/ListOpen} 1"
	oneLimit   = "gate.limit{gate.name=db} 1"
)

// attach makes the gate known to an interceptor.
func attach(t testing.TB, a gate.Admitter, opts ...otelgate.Option) {
	t.Helper()
	if _, err := otelgate.NewRecorder(a, opts...); err != nil {
		t.Fatal(err)
	}
}

// oneCall admits one call and ends it.
func oneCall(t testing.TB, a gate.Admitter) {
	t.Helper()
	lease, err := a.Acquire(context.Background(), gate.Call{Route: listOpen})
	if err != nil {
		t.Fatal(err)
	}
	lease.Release()
}

func TestTwoHostsOfOneGateCountOnce(t *testing.T) {
	sdk := newSDK()
	db := gate.Must(gate.New("db", 1))
	attach(t, db, otelgate.WithMeterProvider(sdk.meters))
	attach(t, gate.Chain(db, gate.Must(gate.New("reports", 1))), otelgate.WithMeterProvider(sdk.meters))
	if err := otelgate.Instrument(db, otelgate.WithMeterProvider(sdk.meters)); err != nil {
		t.Fatal(err)
	}
	oneCall(t, db)
	wantLines(t, about(sdk.metrics(t), "gate.requests{", "gate.limit{gate.name=db}"), oneRequest, oneLimit)
}

func TestEachProviderGetsEverything(t *testing.T) {
	a, b := newSDK(), newSDK()
	db := gate.Must(gate.New("db", 1))
	attach(t, db, otelgate.WithMeterProvider(a.meters))
	attach(t, db, otelgate.WithMeterProvider(b.meters))
	attach(t, db, otelgate.WithMeterProvider(a.meters))
	oneCall(t, db)
	for _, sdk := range []*sdk{a, b} {
		wantLines(t, about(sdk.metrics(t), "gate.requests", "gate.limit"), oneRequest, oneLimit)
	}
}

func TestGatesOfAHostMayBeInstrumentedToo(t *testing.T) {
	for _, s := range scenarios() {
		for _, instrumentFirst := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, %v", s.name, instrumentFirst), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					sdk, recorder := newSDK(), (*otelgate.Recorder)(nil)
					instrument := func(g *gate.Gate) {
						if err := otelgate.Instrument(g, otelgate.WithMeterProvider(sdk.meters)); err != nil {
							t.Fatal(err)
						}
					}
					ctx, span := sdk.traces.Tracer("test").Start(t.Context(), "call")
					call := gate.Call{Route: listOpen, Key: "k", RequestID: "r1"}
					ctx, lease, err := s.play(t, ctx, call, func(g *gate.Gate) {
						if instrumentFirst {
							instrument(g)
						}
						var err error
						if recorder, err = otelgate.NewRecorder(g, otelgate.WithMeterProvider(sdk.meters)); err != nil {
							t.Fatal(err)
						}
						if !instrumentFirst {
							instrument(g)
						}
					})
					recorder.Annotate(ctx, &call, lease, err)
					span.End()
					want := s.attrs()
					if s.rejected() {
						want["gate.request_id"] = "r1"
					}
					s.wantCallSpan(t, sdk.spans.Ended(), want)
					if got := about(about(sdk.metrics(t), "ListOpen"), otelgate.MetricRequests); len(got) != 1 ||
						!strings.HasSuffix(got[0], "} 1") {
						t.Errorf("counted: %q", got)
					}
				})
			})
		}
	}
}

// callbacks counts the callbacks that are registered with a provider.
type callbacks struct {
	metric.MeterProvider
	registered atomic.Int64
}

func (c *callbacks) Meter(name string, opts ...metric.MeterOption) metric.Meter {
	return callbackMeter{c.MeterProvider.Meter(name, opts...), c}
}

type callbackMeter struct {
	metric.Meter
	counter *callbacks
}

func (m callbackMeter) RegisterCallback(f metric.Callback, of ...metric.Observable) (metric.Registration, error) {
	reg, err := m.Meter.RegisterCallback(f, of...)
	m.counter.registered.Add(1)
	return registration{reg, m.counter}, err
}

type registration struct {
	metric.Registration
	counter *callbacks
}

func (r registration) Unregister() error {
	r.counter.registered.Add(-1)
	return r.Registration.Unregister()
}

func TestReplacedGatesAreForgotten(t *testing.T) {
	sdk := newSDK()
	provider := &callbacks{MeterProvider: sdk.meters}
	db := gate.Must(gate.New("db", 1))
	rebuild := func() {
		t.Helper()
		policy, err := gate.NewPolicy(gate.Route("/orders.*", db), gate.Route("*", gate.Must(gate.New("rest", 9))))
		if err != nil {
			t.Fatal(err)
		}
		attach(t, policy, otelgate.WithMeterProvider(provider))
		oneCall(t, policy)
	}
	for range 10 {
		rebuild()
	}
	if n := provider.registered.Load(); n != 11 {
		t.Errorf("%d callbacks for 11 gates", n)
	}
	awaitCallbacks(t, provider, 1)
	wantLines(t, about(sdk.metrics(t), "limit"), oneLimit)
	runtime.KeepAlive(db)
}

func TestWithoutAnSDKTheGateIsNotObserved(t *testing.T) {
	dropped := sdkmetric.NewMeterProvider() // no reader: nobody collects
	db := gate.Must(gate.New("db", 1))
	attach(t, db, otelgate.WithMeterProvider(noop.NewMeterProvider()))
	attach(t, db, otelgate.WithMeterProvider(dropped))
	if err := otelgate.Instrument(db); err != nil { // the global one, and spans
		t.Fatal(err)
	}
	ctx, call := context.Background(), gate.Call{Route: listOpen}
	if n := testing.AllocsPerRun(100, func() {
		lease, err := db.Acquire(ctx, call)
		if err != nil {
			t.Fatal(err)
		}
		lease.Release()
	}); n != 0 {
		t.Errorf("%v allocations per call", n)
	}
	// A gate that is observed reads the clock for every lease, so that it
	// knows its age. This one does so from the first Snapshot on.
	lease, err := db.Acquire(ctx, call)
	if err != nil {
		t.Fatal(err)
	}
	defer lease.Release()
	for range 1000 {
		runtime.Gosched() // so that some time passes
	}
	first, second := db.Snapshot().Holders[0].Age, db.Snapshot().Holders[0].Age
	if first != 0 || second < first {
		t.Errorf("the lease has the age %s before the first Snapshot: somebody observes the gate", first)
	}
}

func TestDroppedInstrumentsLeaveTheOthers(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	drop := func(name string) sdkmetric.Option {
		return sdkmetric.WithView(sdkmetric.NewView(sdkmetric.Instrument{Name: name},
			sdkmetric.Stream{Aggregation: sdkmetric.AggregationDrop{}}))
	}
	sdk := &sdk{reader: reader, meters: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader),
		drop(otelgate.MetricRequests), drop(otelgate.MetricWaitDuration), drop(otelgate.MetricLimit))}
	db := gate.Must(gate.New("db", 1))
	attach(t, db, otelgate.WithMeterProvider(sdk.meters))
	oneCall(t, db)
	if got := sdk.metrics(t); len(got) != 3 || len(about(got, otelgate.MetricLeaseDuration)) != 1 {
		t.Errorf("got %q, want the lease duration, in flight and waiting", got)
	}
}

// TestGlobalProvider sets the global provider, which can be done once in a
// process, so it does it in a process of its own.
func TestGlobalProvider(t *testing.T) {
	if os.Getenv("OTELGATE_TEST_GLOBAL") == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestGlobalProvider$", "-test.count=1", "-test.v")
		cmd.Env = append(os.Environ(), "OTELGATE_TEST_GLOBAL=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	before := gate.Must(gate.New("before", 1))
	both := gate.Must(gate.New("both", 1))
	after := gate.Must(gate.New("after", 1))
	attach(t, before)
	attach(t, both)
	attach(t, both)
	oneCall(t, before) // is not counted
	attach(t, both, otelgate.WithMeterProvider(noop.NewMeterProvider()))

	sdk := newSDK()
	otel.SetMeterProvider(sdk.meters)
	attach(t, both)
	attach(t, both, otelgate.WithMeterProvider(sdk.meters))
	attach(t, after)
	attach(t, after, otelgate.WithMeterProvider(sdk.meters))
	for _, g := range []*gate.Gate{before, both, after} {
		oneCall(t, g)
	}
	wantLines(t, about(sdk.metrics(t), "gate.requests", "gate.limit"),
		"gate.limit{gate.name=before} 1", "gate.limit{gate.name=both} 1", "gate.limit{gate.name=after} 1",
		"gate.requests{gate.decision=accepted,gate.name=before,rpc.method=orders.v1.OrderService/ListOpen} 1",
		"gate.requests{gate.decision=accepted,gate.name=both,rpc.method=orders.v1.OrderService/ListOpen} 1",
		"gate.requests{gate.decision=accepted,gate.name=after,rpc.method=orders.v1.OrderService/ListOpen} 1",
	)

	next := newSDK() // another global provider: it gets everything from new hosts on
	otel.SetMeterProvider(next.meters)
	attach(t, both)
	oneCall(t, both)
	for _, sdk := range []*sdkMetricsOf{{sdk, "2"}, {next, "1"}} {
		if got := about(sdk.metrics(t), "gate.name=both,rpc.method=orders.v1.OrderService/ListOpen} "+sdk.count); len(got) != 3 {
			t.Errorf("got %q, want the three instruments with %s", got, sdk.count)
		}
	}
}

type sdkMetricsOf struct {
	*sdk
	count string
}
