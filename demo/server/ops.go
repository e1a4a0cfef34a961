package server

import (
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
	"github.com/rpcgate/rpcgate/gate/gatelog"
	"github.com/rpcgate/rpcgate/interceptor"
)

// Ops is what a server offers to its operators, next to the calls. None of it is gated, so it answers when the gates do
// not. With a nil *Ops the server offers none of it.
type Ops struct {
	Metrics http.Handler // for Prometheus
	Control bool         // lets the live page set limits
	// ControlHosts are the hosts besides localhost at which it may; see gatedebug.WithControl.
	ControlHosts []string
	// Log is the log of decisions, which the live page shows and, with Control, changes. It may be nil.
	Log *gatelog.Logger
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
func (o *Ops) mount(mux *http.ServeMux, gates []*gate.Gate) {
	if o == nil {
		return
	}
	opts := []gatedebug.Option{gatedebug.WithTraceID(traceID)}
	if o.Control {
		opts = append(opts, gatedebug.WithControl(o.ControlHosts...))
	}
	if o.Log != nil {
		opts = append(opts, gatedebug.WithLog(o.Log))
	}
	mux.Handle("/debug/gate/", gatedebug.Handler(gates, opts...))
	mux.Handle("/healthz", gatedebug.Health(gates...))
	mux.Handle("/metrics", o.Metrics)
}

func traceID(ctx context.Context) string {
	if span := trace.SpanContextFromContext(ctx); span.HasTraceID() {
		return span.TraceID().String()
	}
	return ""
}
