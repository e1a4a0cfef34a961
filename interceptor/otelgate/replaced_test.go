package otelgate_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/otelgate"
)

// requests returns the sum of gate.requests over all attributes.
func requests(t testing.TB, reader *sdkmetric.ManualReader) (sum int64) {
	t.Helper()
	var rm metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &rm); err != nil {
		t.Error(err)
	}
	for _, scope := range rm.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name != otelgate.MetricRequests {
				continue
			}
			for _, p := range m.Data.(metricdata.Sum[int64]).DataPoints {
				sum += p.Value
			}
		}
	}
	return sum
}

// awaitCallbacks collects garbage until the provider has only so many callbacks.
func awaitCallbacks(t *testing.T, provider *callbacks, want int64) {
	t.Helper()
	for tries := 0; provider.registered.Load() != want; tries++ {
		if tries == 1000 {
			t.Fatalf("%d callbacks stayed, want %d", provider.registered.Load(), want)
		}
		runtime.GC() // cleanups run some time after it
		runtime.Gosched()
	}
}

// TestTheCounterOfAReplacedGateGoesOn has a gate that each reload replaces by one of the same name. Whether the old one
// is still there, was collected, or had calls since the last collection: no call is lost, and none counts twice.
func TestTheCounterOfAReplacedGateGoesOn(t *testing.T) {
	sdk := newSDK()
	provider := &callbacks{MeterProvider: sdk.meters}
	made := 0
	calls := func(g *gate.Gate, n int) {
		t.Helper()
		for range n {
			oneCall(t, g)
		}
		made += n
	}
	reload := func() *gate.Gate {
		t.Helper()
		g := gate.Must(gate.New("db", 1))
		for range 3 { // as several hosts of one gate do
			attach(t, g, otelgate.WithMeterProvider(provider))
		}
		return g
	}
	want := func(when string) {
		t.Helper()
		wantLines(t, about(sdk.metrics(t), "requests{"), fmt.Sprintf(
			"gate.requests{gate.decision=accepted,gate.name=db,rpc.method=orders.v1.OrderService/ListOpen} %d", made))
		if t.Failed() {
			t.Fatalf("%s", when)
		}
	}
	old := reload()
	calls(old, 2)
	want("before the first collection")
	calls(old, 3)
	want("after it")
	for range 5 {
		next := reload()
		calls(next, 4)
		calls(old, 5) // that came to it before the reload
		want("with both gates")
		calls(old, 6)
		old = next
		awaitCallbacks(t, provider, 1)
		want("with the next gate alone")
	}
	calls(old, 7)
	old = nil
	awaitCallbacks(t, provider, 0)
	want("with no gate")
}

// TestReadersOfOneProviderCountEveryCall has a reader of totals and one of differences, which collect in turn.
func TestReadersOfOneProviderCountEveryCall(t *testing.T) {
	totals := sdkmetric.NewManualReader()
	differences := sdkmetric.NewManualReader(sdkmetric.WithTemporalitySelector(
		func(sdkmetric.InstrumentKind) metricdata.Temporality { return metricdata.DeltaTemporality }))
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(totals), sdkmetric.WithReader(differences))
	db := gate.Must(gate.New("db", 1))
	attach(t, db, otelgate.WithMeterProvider(meters))
	var total, sum int64
	for i := range int64(10) {
		for range i {
			oneCall(t, db)
		}
		total += i
		if got := requests(t, totals); got != total {
			t.Errorf("total %d after %d calls", got, total)
		}
		if i%3 == 0 {
			sum += requests(t, differences)
			if sum != total {
				t.Errorf("the differences add up to %d after %d calls", sum, total)
			}
		}
	}
}

// TestCallsThatNoCallbackComesForAreCounted drops everything that callbacks report, so that none runs.
func TestCallsThatNoCallbackComesForAreCounted(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	drop := func(name string) sdkmetric.Option {
		return sdkmetric.WithView(sdkmetric.NewView(sdkmetric.Instrument{Name: name},
			sdkmetric.Stream{Aggregation: sdkmetric.AggregationDrop{}}))
	}
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), drop(otelgate.MetricInFlight),
		drop(otelgate.MetricWaiting), drop(otelgate.MetricLimit), drop("*duration"))
	db := gate.Must(gate.New("db", 1))
	attach(t, db, otelgate.WithMeterProvider(meters))
	for want := int64(1); want < 4; want++ {
		oneCall(t, db)
		if got := requests(t, reader); got != want {
			t.Errorf("%d requests after %d calls", got, want)
		}
	}
}

// TestCountingWhileReadersCollect lets gates of one name come and go under calls and collections.
func TestCountingWhileReadersCollect(t *testing.T) {
	const callers, gates, callsEach = 4, 10, 50
	readers := [2]*sdkmetric.ManualReader{sdkmetric.NewManualReader(), sdkmetric.NewManualReader()}
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(readers[0]), sdkmetric.WithReader(readers[1]))
	var calling, collecting sync.WaitGroup
	stop := make(chan struct{})
	for _, reader := range readers {
		collecting.Go(func() {
			last := int64(0)
			for {
				got := requests(t, reader)
				if got < last {
					t.Errorf("the counter fell from %d to %d", last, got)
				}
				last = got
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for range gates {
		db := gate.Must(gate.New("db", callers))
		attach(t, db, otelgate.WithMeterProvider(meters))
		for range callers {
			calling.Go(func() {
				for range callsEach {
					oneCall(t, db)
				}
			})
		}
		runtime.GC()
	}
	calling.Wait()
	close(stop)
	collecting.Wait()
	for _, reader := range readers {
		if got := requests(t, reader); got != callers*gates*callsEach {
			t.Errorf("%d requests, want %d", got, callers*gates*callsEach)
		}
	}
}
