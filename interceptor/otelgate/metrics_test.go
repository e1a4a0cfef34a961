package otelgate_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/otelgate"
)

func TestEveryOutcomeIsCounted(t *testing.T) {
	for _, s := range scenarios() {
		for _, collected := range []bool{false, true} { // calls are counted in another way from the first collection on
			t.Run(fmt.Sprintf("%s, %v", s.name, collected), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { s.wantCounted(t, collected) })
			})
		}
	}
}

func (s scenario) wantCounted(t *testing.T, collected bool) {
	sdk := newSDK()
	_, lease, err := s.play(t, context.Background(), gate.Call{Route: listOpen, Key: "k"}, func(g *gate.Gate) {
		attach(t, g, otelgate.WithMeterProvider(sdk.meters))
		if collected {
			sdk.metrics(t)
		}
	})
	set := "gate.decision=" + s.decision
	if s.dryRun {
		set += ",gate.dry_run=true"
	}
	set += ",gate.name=db"
	if s.reason != "" {
		set += ",gate.reason=" + s.reason
	}
	set += ",rpc.method=orders.v1.OrderService/ListOpen"
	want := []string{"gate.requests{" + set + "} 1"}
	if s.decision != "abandoned" {
		want = append(want, fmt.Sprintf("gate.wait.duration{%s} 1 in %.4gs", set, s.waited.Seconds()))
	}
	if err == nil {
		time.Sleep(70 * time.Millisecond)
		lease.Release()
		lease.Release()
		want = append(want, "gate.lease.duration{gate.name=db,rpc.method=orders.v1.OrderService/ListOpen} 1 in 0.07s")
	}
	for range 2 { // the second collection adds nothing
		wantLines(t, about(sdk.metrics(t), "ListOpen"), want...)
	}
}

func TestNumbersOfTheMomentAreReadAtCollection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sdk := newSDK()
		db := gate.Must(gate.New("db", 3))
		if _, err := otelgate.NewRecorder(db, otelgate.WithMeterProvider(sdk.meters)); err != nil {
			t.Fatal(err)
		}
		now := func() []string { return about(sdk.metrics(t), "in_flight", "waiting", "limit") }
		wantLines(t, now(), "gate.in_flight{gate.name=db} 0", "gate.waiting{gate.name=db} 0", "gate.limit{gate.name=db} 3")

		ctx := context.Background()
		lease, err := db.Acquire(ctx, gate.Call{Cost: 3})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			go db.Acquire(ctx, gate.Call{})
		}
		synctest.Wait()
		if err := db.SetLimit(5); err != nil { // admits them
			t.Fatal(err)
		}
		for range 2 {
			go db.Acquire(ctx, gate.Call{})
		}
		synctest.Wait()
		wantLines(t, now(), "gate.in_flight{gate.name=db} 5", "gate.waiting{gate.name=db} 2", "gate.limit{gate.name=db} 5")
		lease.Release()
		wantLines(t, now(), "gate.in_flight{gate.name=db} 4", "gate.waiting{gate.name=db} 0", "gate.limit{gate.name=db} 5")
	})
}

func TestLeasesHeldTooLongAreCountedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sdk := newSDK()
		db := gate.Must(gate.New("db", 2, gate.WithMaxHold(time.Minute)))
		if _, err := otelgate.NewRecorder(db, otelgate.WithMeterProvider(sdk.meters)); err != nil {
			t.Fatal(err)
		}
		lease, err := db.Acquire(context.Background(), gate.Call{Route: listOpen})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(59 * time.Second)
		wantLines(t, about(sdk.metrics(t), "held_too_long"))
		time.Sleep(time.Hour)
		want := "gate.held_too_long{gate.name=db,rpc.method=orders.v1.OrderService/ListOpen} 1"
		wantLines(t, about(sdk.metrics(t), "held_too_long"), want)
		lease.Release()
		wantLines(t, about(sdk.metrics(t), "held_too_long"), want)
	})
}

func TestGatesOfAChainAndAPolicyAreCountedEach(t *testing.T) {
	sdk := newSDK()
	db, reports := gate.Must(gate.New("db", 9)), gate.Must(gate.New("reports", 1))
	policy, err := gate.NewPolicy(
		gate.Route("/orders.v1.*", db),
		gate.Route("/reports.v1.*", reports, db),
	)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := otelgate.NewRecorder(policy, otelgate.WithMeterProvider(sdk.meters)); err != nil {
		t.Fatal(err)
	}
	for _, route := range []string{"/orders.v1.Orders/Get", "/reports.v1.Reports/Monthly", "/grpc.health.v1.Health/Check"} {
		lease, err := policy.Acquire(context.Background(), gate.Call{Route: route})
		if err != nil {
			t.Fatal(err)
		}
		lease.Release()
	}
	wantLines(t, about(sdk.metrics(t), "requests"),
		"gate.requests{gate.decision=accepted,gate.name=db,rpc.method=orders.v1.Orders/Get} 1",
		"gate.requests{gate.decision=accepted,gate.name=db,rpc.method=reports.v1.Reports/Monthly} 1",
		"gate.requests{gate.decision=accepted,gate.name=reports,rpc.method=reports.v1.Reports/Monthly} 1",
	)
}

func TestRoutesThatAreNotToldApart(t *testing.T) {
	sdk := newSDK()
	db := gate.Must(gate.New("db", 100))
	_, err := otelgate.NewRecorder(db, otelgate.WithMeterProvider(sdk.meters), otelgate.WithMaxRoutes(2))
	if err != nil {
		t.Fatal(err)
	}
	for i, call := range []gate.Call{
		{Route: "/no.such.Service/Method", UnknownRoute: true}, // does not count against the two
		{Route: "/a.A/A"},
		{}, // without a route
		{Route: "/b.B/B"},
		{Route: "/c.C/C"},
		{Route: "/a.A/A"},
	} {
		if i == 4 {
			sdk.metrics(t)
		}
		if err := db.Do(context.Background(), call, func(context.Context) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	wantLines(t, about(sdk.metrics(t), "requests"),
		"gate.requests{gate.decision=accepted,gate.name=db,rpc.method=_OTHER} 3",
		"gate.requests{gate.decision=accepted,gate.name=db,rpc.method=a.A/A} 2",
		"gate.requests{gate.decision=accepted,gate.name=db} 1",
	)
}

func TestInstrumentsAreAsTheyAreDocumented(t *testing.T) {
	sdk := newSDK()
	var scopes []metricdata.ScopeMetrics
	synctest.Test(t, func(t *testing.T) {
		db := gate.Must(gate.New("db", 1, gate.WithMaxHold(time.Second)))
		if err := otelgate.Instrument(db, otelgate.WithMeterProvider(sdk.meters)); err != nil {
			t.Fatal(err)
		}
		err := db.Do(context.Background(), gate.Call{}, func(context.Context) error {
			time.Sleep(2 * time.Second)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		scopes = sdk.scopes(t)
	})
	type kind struct {
		unit string
		data string
	}
	want := map[string]kind{
		"gate.requests":       {"{request}", "monotonic sum"},
		"gate.wait.duration":  {"s", "histogram from 0 to 5"},
		"gate.lease.duration": {"s", "histogram from 0.001 to 300"},
		"gate.held_too_long":  {"{lease}", "monotonic sum"},
		"gate.in_flight":      {"{unit}", "sum"},
		"gate.waiting":        {"{request}", "sum"},
		"gate.limit":          {"{unit}", "sum"},
	}
	for _, scope := range scopes {
		if scope.Scope.Name != "github.com/rpcgate/rpcgate/interceptor/otelgate" || scope.Scope.Version == "" {
			t.Errorf("scope %q, version %q", scope.Scope.Name, scope.Scope.Version)
		}
		for _, m := range scope.Metrics {
			got := kind{unit: m.Unit}
			switch d := m.Data.(type) {
			case metricdata.Sum[int64]:
				got.data = "sum"
				if d.IsMonotonic {
					got.data = "monotonic sum"
				}
			case metricdata.Histogram[float64]:
				b := d.DataPoints[0].Bounds
				got.data = fmt.Sprintf("histogram from %v to %v", b[0], b[len(b)-1])
			}
			if got != want[m.Name] || m.Description == "" {
				t.Errorf("%s (%s): got %v, want %v", m.Name, m.Description, got, want[m.Name])
			}
			delete(want, m.Name)
		}
	}
	for name := range want {
		t.Errorf("%s was not exported", name)
	}
}

// TestLeasesThatAreCutOffHaveASeriesOfTheirOwn has a call that its host cuts off, and one that it does not.
func TestLeasesThatAreCutOffHaveASeriesOfTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sdk := newSDK()
		g := gate.Must(gate.New("db", 1))
		r, err := otelgate.NewRecorder(g, otelgate.WithMeterProvider(sdk.meters), otelgate.WithTracerProvider(sdk.traces))
		if err != nil {
			t.Fatal(err)
		}
		for _, cut := range []bool{true, false} {
			ctx, span := sdk.traces.Tracer("test").Start(t.Context(), "call")
			call := gate.Call{Route: listOpen}
			lease, err := g.Acquire(ctx, call)
			r.Annotate(ctx, &call, lease, err)
			if cut {
				lease.CutOff(gate.ReasonSlowRequest)
				r.AnnotateCutOff(ctx, gate.ReasonSlowRequest)
			}
			lease.Release()
			span.End()
		}
		var leases []string
		for _, line := range sdk.metrics(t) {
			if strings.HasPrefix(line, "gate.lease.duration") {
				leases = append(leases, line)
			}
		}
		slices.Sort(leases)
		want := []string{
			"gate.lease.duration{gate.name=db,gate.reason=slow_request,rpc.method=orders.v1.OrderService/ListOpen} 1 in 0s",
			"gate.lease.duration{gate.name=db,rpc.method=orders.v1.OrderService/ListOpen} 1 in 0s",
		}
		if !slices.Equal(leases, want) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(leases, "\n"), strings.Join(want, "\n"))
		}
		for i, s := range sdk.spans.Ended() {
			cut := slices.Contains(s.Attributes(), otelgate.KeyReason.String("slow_request"))
			if cut != (i == 0) {
				t.Errorf("span %d says that its call was cut off: %t", i, cut)
			}
		}
	})
}
