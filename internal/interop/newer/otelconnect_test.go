package newer

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"

	"connectrpc.com/connect"
	connectv2 "connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"connectrpc.com/otelconnect"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/rpcgate/rpcgate/gate"
	testv1connectv2 "github.com/rpcgate/rpcgate/gen/connectv2/rpcgate/test/v1/testv1connect"
	testv1 "github.com/rpcgate/rpcgate/gen/rpcgate/test/v1"
	"github.com/rpcgate/rpcgate/gen/rpcgate/test/v1/testv1connect"
	"github.com/rpcgate/rpcgate/interceptor"
	"github.com/rpcgate/rpcgate/interceptor/connectgate"
	"github.com/rpcgate/rpcgate/interceptor/otelgate"
	"github.com/rpcgate/rpcgate/internal/memhttp"
)

// observed is what OpenTelemetry was told of a refused and an accepted call.
type observed struct {
	decisions []string // on spans, in the order of the calls; "" where a span has none
	counted   map[string]int64
}

// observe refuses one call and accepts one, at a server made by handler with a gate and the providers.
func observe(
	t *testing.T, handler func(g *gate.Gate, tp *trace.TracerProvider, mp *metric.MeterProvider) http.Handler,
) observed {
	t.Helper()
	spans := tracetest.NewSpanRecorder()
	tp := trace.NewTracerProvider(trace.WithSpanProcessor(spans))
	reader := metric.NewManualReader()
	mp := metric.NewMeterProvider(metric.WithReader(reader))
	g := gate.Must(gate.New("db", 1, gate.WithMaxWait(0)))
	s := memhttp.Start(t, handler(g, tp, mp))
	client := testv1connect.NewEchoServiceClient(s.Client(), "http://"+memhttp.Addr)
	call := func() error {
		_, err := client.Unary(t.Context(), connect.NewRequest(&testv1.UnaryRequest{}))
		return err
	}
	filler, err := g.TryAcquire(gate.Call{Route: "filler"})
	if err != nil {
		t.Fatal(err)
	}
	if err := call(); connect.CodeOf(err) != connect.CodeResourceExhausted {
		t.Errorf("at a full gate: %v", err)
	}
	filler.Release()
	if err := call(); err != nil {
		t.Error(err)
	}
	out := observed{counted: map[string]int64{}}
	for _, span := range spans.Ended() {
		decision := ""
		for _, attr := range span.Attributes() {
			if attr.Key == otelgate.KeyDecision {
				decision = attr.Value.AsString()
			}
		}
		out.decisions = append(out.decisions, decision)
	}
	var metrics metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &metrics); err != nil {
		t.Fatal(err)
	}
	for _, scope := range metrics.ScopeMetrics {
		for _, m := range scope.Metrics {
			if sum, ok := m.Data.(metricdata.Sum[int64]); ok && m.Name == otelgate.MetricRequests {
				for _, point := range sum.DataPoints {
					decision, _ := point.Attributes.Value(otelgate.KeyDecision)
					method, _ := point.Attributes.Value(otelgate.KeyMethod)
					if method.AsString() != "filler" { // which is not a call
						out.counted[decision.AsString()] += point.Value
					}
				}
			}
		}
	}
	return out
}

// echoV1 answers unary calls.
type echoV1 struct {
	testv1connect.UnimplementedEchoServiceHandler
}

func (echoV1) Unary(context.Context, *connect.Request[testv1.UnaryRequest]) (*connect.Response[testv1.UnaryResponse], error) {
	return connect.NewResponse(&testv1.UnaryResponse{}), nil
}

func handlerV1(interceptors ...connect.Interceptor) http.Handler {
	mux := http.NewServeMux()
	mux.Handle(testv1connect.NewEchoServiceHandler(echoV1{}, connect.WithInterceptors(interceptors...)))
	return mux
}

// echoV2 is the same in Connect v2.
type echoV2 struct {
	testv1connectv2.UnimplementedEchoServiceHandler
}

func (echoV2) Unary(context.Context, *testv1.UnaryRequest) (*testv1.UnaryResponse, error) {
	return &testv1.UnaryResponse{}, nil
}

func handlerV2(interceptors ...connectv2.ServerInterceptor) http.Handler {
	server := connectv2.NewServer(interceptors...)
	testv1connectv2.RegisterEchoServiceHandler(server, echoV2{})
	mux := http.NewServeMux()
	connecthttp.Mount(mux, server)
	return mux
}

func (o observed) check(t *testing.T, decisions ...string) {
	t.Helper()
	if len(o.decisions) != len(decisions) {
		t.Fatalf("spans have the decisions %q, want %q", o.decisions, decisions)
	}
	for i, want := range decisions {
		if o.decisions[i] != want {
			t.Errorf("span %d has the decision %q, want %q", i, o.decisions[i], want)
		}
	}
	if o.counted["rejected_busy"] != 1 || o.counted["accepted"] != 1 {
		t.Errorf("counted %v, want one rejected and one accepted", o.counted)
	}
}

func otelconnectV1(t *testing.T, tp *trace.TracerProvider, mp *metric.MeterProvider) connect.Interceptor {
	t.Helper()
	tracing, err := otelconnect.NewInterceptor(otelconnect.WithTracerProvider(tp), otelconnect.WithMeterProvider(mp))
	if err != nil {
		t.Fatal(err)
	}
	return tracing
}

func TestSpanOfOtelconnectHasTheDecisionIfItIsListedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		observe(t, func(g *gate.Gate, tp *trace.TracerProvider, mp *metric.MeterProvider) http.Handler {
			return handlerV1(otelconnectV1(t, tp, mp), connectgate.NewInterceptor(g, interceptor.WithMeterProvider(mp)))
		}).check(t, "rejected_busy", "accepted")
	})
}

func TestRefusalBeforeOtelconnectHasNoSpanButIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		observe(t, func(g *gate.Gate, tp *trace.TracerProvider, mp *metric.MeterProvider) http.Handler {
			return handlerV1(connectgate.NewInterceptor(g, interceptor.WithMeterProvider(mp)), otelconnectV1(t, tp, mp))
		}).check(t, "") // the accepted call's, made after the decision
	})
}

func TestTwoInterceptorsOnOneGateCountACallOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		observe(t, func(g *gate.Gate, tp *trace.TracerProvider, mp *metric.MeterProvider) http.Handler {
			_ = connectgate.NewServerInterceptor(g, interceptor.WithMeterProvider(mp)) // another host of the same gate
			return handlerV1(otelconnectV1(t, tp, mp), connectgate.NewInterceptor(g, interceptor.WithMeterProvider(mp)))
		}).check(t, "rejected_busy", "accepted")
	})
}

func TestSpanOfOtelconnectV2HasTheDecisionIfItIsListedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		observe(t, func(g *gate.Gate, tp *trace.TracerProvider, mp *metric.MeterProvider) http.Handler {
			tracing, err := otelconnect.NewServerInterceptor(otelconnect.WithTracerProvider(tp), otelconnect.WithMeterProvider(mp))
			if err != nil {
				t.Fatal(err)
			}
			return handlerV2(tracing, connectgate.NewServerInterceptor(g, interceptor.WithMeterProvider(mp)))
		}).check(t, "rejected_busy", "accepted")
	})
}
