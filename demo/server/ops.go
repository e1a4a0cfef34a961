package server

import (
	"bytes"
	"context"
	"net/http"
	"time"

	"connectrpc.com/connect"
	"connectrpc.com/otelconnect"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/gate/gatedebug"
	"github.com/rpcgate/rpcgate/interceptor"
)

// Ops is what a server offers to its operators, next to the calls. None of it is gated, so it answers when the gates do
// not. With a nil *Ops the server offers none of it.
type Ops struct {
	Metrics http.Handler // for Prometheus
	Control bool         // lets the live page set limits
	// ControlHosts are the hosts besides localhost at which it may; see gatedebug.WithControl.
	ControlHosts []string
	// Grace is how long the server goes on after it is not ready any more, until balancers have noticed.
	Grace time.Duration
}

// grpcOptions give every call a span and metrics, by the global providers.
func (o *Ops) grpcOptions() []grpc.ServerOption {
	if o == nil {
		return nil
	}
	return []grpc.ServerOption{grpc.StatsHandler(otelgrpc.NewServerHandler())}
}

// connectOptions do the same for Connect. They must come before the options of the gates, so that the span exists when
// a gate decides.
func (o *Ops) connectOptions() []connect.HandlerOption {
	if o == nil {
		return nil
	}
	// WithTrustRemote makes the span part of the caller's trace, as with gRPC.
	tracing, err := otelconnect.NewInterceptor(otelconnect.WithTrustRemote())
	if err != nil { // one of these options is wrong
		panic(err)
	}
	return []connect.HandlerOption{connect.WithInterceptors(tracing)}
}

func (o *Ops) grace() interceptor.ShutdownOption {
	if o == nil {
		return interceptor.WithGrace(0)
	}
	return interceptor.WithGrace(o.Grace)
}

// mount adds the operators' pages to those of a mux.
func (o *Ops) mount(mux *http.ServeMux, health http.Handler, gates []*gate.Gate) {
	if o == nil {
		return
	}
	opts := []gatedebug.Option{gatedebug.WithTraceID(traceID)}
	if o.Control {
		opts = append(opts, gatedebug.WithControl(o.ControlHosts...))
	}
	mux.Handle("/debug/gate/", gatedebug.Handler(gates, opts...))
	mux.Handle("/healthz", health)
	mux.Handle("/metrics", o.Metrics)
}

func traceID(ctx context.Context) string {
	if span := trace.SpanContextFromContext(ctx); span.HasTraceID() {
		return span.TraceID().String()
	}
	return ""
}

// degraded asks the handler of /healthz, so that all health services give the same answer.
func degraded(health http.Handler) bool {
	var answer answerBuffer
	r, err := http.NewRequest(http.MethodGet, "/healthz", nil)
	if err != nil { // impossible with these arguments
		panic(err)
	}
	health.ServeHTTP(&answer, r)
	return bytes.HasPrefix(answer.Bytes(), []byte(`{"status":"`+gatedebug.StatusDegraded+`"`))
}

// answerBuffer is a response that is kept in memory.
type answerBuffer struct {
	bytes.Buffer
	header http.Header
}

func (a *answerBuffer) Header() http.Header {
	if a.header == nil {
		a.header = http.Header{}
	}
	return a.header
}

func (*answerBuffer) WriteHeader(int) {}
