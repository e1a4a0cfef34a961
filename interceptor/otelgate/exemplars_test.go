package otelgate_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/trace"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/otelgate"
)

// TestExemplarsLeadToTheCallsWorthALook has one call after many that were accepted at once and held their lease for
// about 10 ms.
func TestExemplarsLeadToTheCallsWorthALook(t *testing.T) {
	for _, c := range []struct {
		name   string
		opts   []gate.Option
		others time.Duration // how long another call has the gate when this one comes
		held   time.Duration
		want   []string
	}{
		{name: "usual", held: 10 * time.Millisecond},
		{name: "somewhat longer", held: 19 * time.Millisecond},
		{name: "much longer", held: 21 * time.Millisecond, want: []string{"gate.lease.duration"}},
		{name: "waited", others: 20 * time.Millisecond, held: time.Millisecond, want: []string{"gate.wait.duration"}},
		{name: "rejected at once", opts: []gate.Option{gate.WithMaxWait(0)}, others: time.Second,
			want: []string{"gate.wait.duration"}},
		{name: "rejected after a wait", others: time.Second, want: []string{"gate.wait.duration"}},
		{name: "dry run", opts: []gate.Option{gate.WithMaxWait(0), gate.WithDryRun()}, others: time.Second,
			want: []string{"gate.wait.duration"}},
		{name: "too long", opts: []gate.Option{gate.WithMaxHold(time.Minute)}, held: time.Hour,
			want: []string{"gate.held_too_long", "gate.lease.duration"}},
	} {
		for _, collected := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, %v", c.name, collected), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					sdk := newSDK()
					db := gate.Must(gate.New("db", 1, c.opts...))
					attach(t, db, otelgate.WithMeterProvider(sdk.meters))
					for i := range 100 {
						sdk.tracedCall(t, db, time.Duration(9+i%3)*time.Millisecond)
					}
					if collected {
						sdk.metrics(t)
					}
					if c.others > 0 {
						occupy(c.others)(t, db)
					}
					id := sdk.tracedCall(t, db, c.held)
					if got := sdk.exemplars(t, id); !slices.Equal(got, c.want) {
						t.Errorf("exemplars of the call's trace in %q, want %q", got, c.want)
					}
					time.Sleep(c.others)
				})
			})
		}
	}
}

// TestTheFirstCallOfARouteIsNoExemplar although nothing is known of its mean.
func TestTheFirstCallOfARouteIsNoExemplar(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sdk := newSDK()
		db := gate.Must(gate.New("db", 1))
		attach(t, db, otelgate.WithMeterProvider(sdk.meters))
		if got := sdk.exemplars(t, sdk.tracedCall(t, db, time.Second)); len(got) != 0 {
			t.Errorf("exemplars in %q, want none", got)
		}
	})
}

// tracedCall makes a call in a span of its own, and returns the trace.
func (s *sdk) tracedCall(t *testing.T, db *gate.Gate, held time.Duration) trace.TraceID {
	t.Helper()
	ctx, span := s.traces.Tracer("test").Start(context.Background(), "call")
	lease, err := db.Acquire(ctx, gate.Call{Route: listOpen})
	time.Sleep(held)
	span.End()
	if err == nil {
		lease.Release() // the span has ended: it is still the one of this call
	}
	return span.SpanContext().TraceID()
}

// exemplars returns the names of the metrics that have one of the trace, sorted.
func (s *sdk) exemplars(t *testing.T, want trace.TraceID) []string {
	t.Helper()
	found := map[string]bool{}
	check := func(name string, id []byte) {
		if trace.TraceID(id) == want {
			found[name] = true
		}
	}
	for _, m := range s.scopes(t)[0].Metrics {
		switch d := m.Data.(type) {
		case metricdata.Sum[int64]:
			for _, point := range d.DataPoints {
				for _, e := range point.Exemplars {
					check(m.Name, e.TraceID)
				}
			}
		case metricdata.Histogram[float64]:
			for _, point := range d.DataPoints {
				for _, e := range point.Exemplars {
					check(m.Name, e.TraceID)
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}
