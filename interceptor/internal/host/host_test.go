package host

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/rpcgate/rpcgate/gate"
)

func newGate(t *testing.T) *gate.Gate {
	t.Helper()
	g, err := gate.New("db", 1, gate.WithMaxWait(0))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func mustHost(a gate.Admitter) *Host { return Must[Option]("", a, nil) }

func newPolicy(t *testing.T, rules ...gate.Rule) *gate.Policy {
	t.Helper()
	p, err := gate.NewPolicy(rules...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestMistakesPanicAndSayWhatIsWrong(t *testing.T) {
	bad := OptionFunc(func(*Config) error { return errors.New("WithX: bad") })
	for _, test := range []struct {
		admitter gate.Admitter
		opts     []Option
		want     string
	}{
		{nil, nil, "hostgate: Admitter: want a gate or a policy, got nil"},
		{(*gate.Gate)(nil), nil, "hostgate: Admitter: want a gate or a policy, got a nil *gate.Gate"},
		{(*gate.Policy)(nil), nil, "hostgate: Admitter: want a gate or a policy, got a nil *gate.Policy"},
		{newGate(t), []Option{nil}, "hostgate: option 0: want an Option, got nil"},
		{nil, []Option{bad, bad}, "hostgate: Admitter: want a gate or a policy, got nil\nhostgate: WithX: bad\nhostgate: WithX: bad"},
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); got != test.want {
					t.Errorf("panic %q, want %q", got, test.want)
				}
			}()
			Must("hostgate", test.admitter, test.opts)
		}()
	}
}

func TestHealthAndReflectionAreExemptAtAGateAsWithAPolicy(t *testing.T) {
	g := newGate(t)
	single, policy := mustHost(g), mustHost(newPolicy(t, gate.Route("*", g)))
	for route, want := range map[string]bool{
		"/grpc.health.v1.Health/Check":                                   true,
		"/grpc.health.v1.Health/Watch":                                   true,
		"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo":      true,
		"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": true,
		"/grpc.health.v1.HealthCheck/Check":                              false,
		"/grpc.reflections.X/Y":                                          false,
		"/orders.v1.OrderService/ListOpen":                               false,
		"":                                                               false,
	} {
		if single.Exempts(route) != want || policy.Exempts(route) != want {
			t.Errorf("%s: exempt at a gate %t, with a policy %t, want %t", route, single.Exempts(route), policy.Exempts(route), want)
		}
	}
	gated := mustHost(newPolicy(t, gate.Route("*", g), gate.Route("/grpc.health.v1.Health/*", g)))
	if gated.Exempts("/grpc.health.v1.Health/Check") {
		t.Error("a rule for health checks has no effect")
	}
}

func TestOptionsDoNotSeeExemptCalls(t *testing.T) {
	p := newPolicy(t, gate.Route("*", newGate(t)), gate.Exempt("/free.V1/*"))
	key := OptionFunc(func(c *Config) error {
		c.Key = func(context.Context, gate.Call, Metadata) string { return "" }
		return nil
	})
	if !Must("", p, []Option{key}).Passes(t.Context(), "/free.V1/X") {
		t.Error("an exempt call does not pass before the options see it")
	}
	lease, err := mustHost(p).Acquire(t.Context(), &gate.Call{Route: "/free.V1/X"})
	if err != nil || lease != (gate.Lease{}) {
		t.Errorf("got lease %+v and error %v, want the zero lease", lease, err)
	}
}

func TestCallThatAHostFurtherOutCoversPasses(t *testing.T) {
	g := newGate(t)
	outer, inner, same := mustHost(g), mustHost(g), mustHost(newPolicy(t, gate.Route("*", g)))
	other := mustHost(newGate(t))
	call := &gate.Call{Route: "/a.B/C"}
	lease, err := outer.Acquire(t.Context(), call)
	if err != nil {
		t.Fatal(err)
	}
	defer lease.Release()
	ctx := outer.Context(t.Context(), lease, call)
	if outer.Passes(t.Context(), "/a.B/C") || !inner.Passes(ctx, "/a.B/C") || !same.Passes(ctx, "/a.B/C") || other.Passes(ctx, "/a.B/C") {
		t.Error("want what is held to cover its gate, and no other one")
	}
	if lease, err := inner.Acquire(ctx, call); err != nil || lease != (gate.Lease{}) {
		t.Errorf("a covered call got a lease (%v) or an error (%v)", lease != gate.Lease{}, err)
	}
	messages := outer.Messages(t.Context(), gate.Call{Route: "/a.B/C"}, nil)
	if !inner.Passes(messages.Context(), "/a.B/C") {
		t.Error("a stream whose messages are admitted one by one does not pass")
	}
	if got, ok := gate.LeaseFromContext(ctx); !ok || got != lease {
		t.Error("the context does not carry the lease")
	}
}

func TestStreamModeIsThePolicys(t *testing.T) {
	g := newGate(t)
	if got := mustHost(g).StreamMode("/a.B/C"); got != gate.HoldStream {
		t.Errorf("%s at a gate, want hold_stream", got)
	}
	p := newPolicy(t, gate.Route("*", g).Stream(gate.HoldMessage))
	if got := mustHost(p).StreamMode("/a.B/C"); got != gate.HoldMessage {
		t.Errorf("%s with a policy, want hold_message", got)
	}
}

// foreign is an Admitter from outside package gate that cannot be compared.
type foreign struct{ errs []error }

func (f foreign) Acquire(context.Context, gate.Call) (gate.Lease, error) {
	return gate.Lease{}, errors.Join(f.errs...)
}

func TestForeignAdmittersWork(t *testing.T) {
	h := mustHost(foreign{})
	lease, err := h.Acquire(t.Context(), &gate.Call{})
	if err != nil {
		t.Fatal(err)
	}
	lease.Release()
	ctx := h.Context(t.Context(), lease, &gate.Call{})
	if h.Passes(ctx, "/a.B/C") {
		t.Error("an Admitter that cannot be compared was taken for the same")
	}
	if err := h.RefuseEarly(ctx, &gate.Call{}); err != nil {
		t.Error(err)
	}
	refusing := mustHost(foreign{[]error{&gate.Rejection{RequestID: "req-7"}}})
	_, err = refusing.Acquire(t.Context(), &gate.Call{})
	if r, ok := refusing.Refusal(t.Context(), err); !ok || r.RequestID() != "req-7" {
		t.Errorf("got %v and %t for a wrapped rejection", r, ok)
	}
	if _, ok := refusing.Refusal(t.Context(), context.Canceled); ok {
		t.Error("a cancelled call was taken for a refused one")
	}
}

// telemetry is an SDK that keeps what it is told.
type telemetry struct {
	spans  *tracetest.SpanRecorder
	tracer *trace.TracerProvider
	reader *sdkmetric.ManualReader
	meter  *sdkmetric.MeterProvider
}

func newTelemetry() telemetry {
	s := telemetry{spans: tracetest.NewSpanRecorder(), reader: sdkmetric.NewManualReader()}
	s.tracer = trace.NewTracerProvider(trace.WithSpanProcessor(s.spans))
	s.meter = sdkmetric.NewMeterProvider(sdkmetric.WithReader(s.reader))
	return s
}

func (s telemetry) option() Option {
	return OptionFunc(func(c *Config) error {
		c.MeterProvider, c.TracerProvider = s.meter, s.tracer
		return nil
	})
}

func (s telemetry) requests(t *testing.T) (n int64) {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := s.reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if sum, ok := m.Data.(metricdata.Sum[int64]); ok && m.Name == "gate.requests" {
				for _, point := range sum.DataPoints {
					n += point.Value
				}
			}
		}
	}
	return n
}

func TestTelemetryIsThereUnlessItIsTurnedOff(t *testing.T) {
	without := OptionFunc(func(c *Config) error { c.WithoutTelemetry = true; return nil })
	for name, test := range map[string]struct {
		opts  []Option
		want  int
		count int64
	}{
		"on":  {nil, 1, 1},
		"off": {[]Option{without}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			sdk := newTelemetry()
			h := Must("", newGate(t), append(test.opts, sdk.option()))
			ctx, span := sdk.tracer.Tracer("test").Start(t.Context(), "call")
			lease, err := h.Acquire(ctx, &gate.Call{Route: "/a.B/C"})
			if err != nil {
				t.Fatal(err)
			}
			lease.Release()
			span.End()
			if got := named(sdk.spans.Ended()[0].Attributes(), "gate.name"); len(got) != test.want {
				t.Errorf("the span has the gate's name %q, want it %d times", got, test.want)
			}
			if got := sdk.requests(t); got != test.count {
				t.Errorf("%d requests counted, want %d", got, test.count)
			}
		})
	}
}

func named(attrs []attribute.KeyValue, key attribute.Key) (values []string) {
	for _, attr := range attrs {
		if attr.Key == key {
			values = append(values, fmt.Sprint(attr.Value.AsInterface()))
		}
	}
	return values
}

func TestMessagesOfAStreamAreCountedAndSummedUpOnItsSpan(t *testing.T) {
	sdk := newTelemetry()
	g := newGate(t)
	h := Must("", g, []Option{sdk.option()})
	ctx, span := sdk.tracer.Tracer("test").Start(t.Context(), "stream")
	messages := h.Messages(ctx, gate.Call{Route: "/a.B/C"}, nil)
	for range 3 {
		if err := messages.Admit("one"); err != nil {
			t.Fatal(err)
		}
		// Without Next the first one is still worked on.
		if err := messages.Admit("another"); !errors.Is(err, gate.ErrBusy) {
			t.Errorf("got %v, want gate.ErrBusy", err)
		}
		messages.Next()
	}
	messages.End()
	span.End()
	ended := sdk.spans.Ended()[0]
	if got := named(ended.Attributes(), "gate.messages"); len(got) != 1 || got[0] != "6" {
		t.Errorf("the span has %q messages, want 6", got)
	}
	if n := len(ended.Events()); n != 1 {
		t.Errorf("the span has %d events, want one for three rejections", n)
	}
	if got := sdk.requests(t); got != 6 {
		t.Errorf("%d requests counted, want 6", got)
	}
}
