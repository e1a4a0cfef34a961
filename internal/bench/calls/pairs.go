package calls

import (
	"context"
	"net/http"

	"connectrpc.com/connect"
	connectv2 "connectrpc.com/connect/v2"
	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/bulkhead"
	"github.com/failsafe-go/failsafe-go/failsafegrpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/tap"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/connectgate"
	"github.com/rpcgate/rpcgate/interceptor/grpcgate"
	"github.com/rpcgate/rpcgate/interceptor/httpgate"
	"github.com/rpcgate/rpcgate/internal/bench/echo"
)

func newGate() *gate.Gate { return gate.Must(gate.New("bench", 1000)) }

// pairs are the interceptors of this kind of call.
func (i *inside) pairs(t told) []pair {
	switch {
	case i.grpc != nil:
		return i.grpc.pairs(t)
	case i.connectV1 != nil:
		return i.connectV1.pairs(t)
	case i.connectV2 != nil:
		return i.connectV2.pairs(t)
	default:
		return i.http.pairs(t)
	}
}

// pairOf is a pair of which both halves run in a span, if there is an SDK.
func pairOf(name string, t told, ctx context.Context, with, without func(context.Context)) pair {
	loop := func(f func(context.Context)) func(int) {
		return func(n int) {
			for range n {
				t.call(ctx, f)
			}
		}
	}
	return pair{name: name, with: loop(with), without: loop(without)}
}

func (c *grpcCall) pairs(t told) []pair {
	handler := func(context.Context, any) (any, error) { return nil, nil }
	without := func(ctx context.Context) { _, _ = handler(ctx, c.req) }
	with := func(intercept grpc.UnaryServerInterceptor) func(context.Context) {
		return func(ctx context.Context) {
			_, err := intercept(ctx, c.req, c.info, handler)
			check(err)
		}
	}
	policy, err := gate.NewPolicy(gate.Route(echo.Route, newGate()))
	check(err)
	pairs := []pair{
		pairOf("grpcgate, interceptor", t, c.ctx, with(grpcgate.UnaryServerInterceptor(newGate(), t.options()...)), without),
		pairOf("grpcgate, interceptor with a policy", t, c.ctx,
			with(grpcgate.UnaryServerInterceptor(policy, t.options()...)), without),
		c.beforeDecode(t),
	}
	for i := range pairs {
		pairs[i].targets = t.targets()
	}
	if t.sdk != nil {
		return pairs
	}
	look, info := grpcgate.TapHandle(newGate()), &tap.Info{FullMethodName: echo.Route}
	handle := pairOf("grpcgate, TapHandle, lets pass", t, c.ctx, func(ctx context.Context) {
		_, err := look(ctx, info)
		check(err)
	}, nothing)
	wall := failsafegrpc.NewUnaryServerInterceptor[any](failsafe.Policy[any](bulkhead.New[any](1000)))
	return append(pairs, handle, pairOf("failsafe bulkhead, interceptor", t, c.ctx, with(wall), without))
}

// beforeDecode is the gate around a method that does nothing.
func (c *grpcCall) beforeDecode(t told) pair {
	method := func(any, context.Context, func(any) error, grpc.UnaryServerInterceptor) (any, error) { return nil, nil }
	gated := new(registered)
	grpcgate.BeforeDecode(gated, newGate(), t.options()...).RegisterService(&grpc.ServiceDesc{
		ServiceName: "rpcgate.test.v1.EchoService",
		Methods:     []grpc.MethodDesc{{MethodName: "Unary", Handler: method}},
	}, nil)
	call := func(handler grpc.MethodHandler) func(context.Context) {
		return func(ctx context.Context) {
			_, err := handler(nil, ctx, nil, nil)
			check(err)
		}
	}
	return pairOf("grpcgate, BeforeDecode", t, c.ctx, call(gated.desc.Methods[0].Handler), call(method))
}

// registered keeps the service that is registered on it.
type registered struct{ desc *grpc.ServiceDesc }

func (r *registered) RegisterService(desc *grpc.ServiceDesc, _ any) { r.desc = desc }

func (c *connectCallV1) pairs(t told) []pair {
	next := func(context.Context, connect.AnyRequest) (connect.AnyResponse, error) { return nil, nil }
	gated := connectgate.NewInterceptor(newGate(), t.options()...).WrapUnary(next)
	unary := pairOf("connectgate v1, interceptor", t, c.ctx, func(ctx context.Context) {
		_, err := gated(ctx, c.req)
		check(err)
	}, func(ctx context.Context) { _, _ = next(ctx, c.req) })
	middleware := connectgate.NewMiddleware(newGate(), t.options()...)
	return []pair{unary, httpPair("connectgate, Middleware", t, c.w, c.r, middleware)}
}

func (c *connectCallV2) pairs(t told) []pair {
	next := func(context.Context, connectv2.Spec, connectv2.ServerStream) error { return nil }
	gated := connectgate.NewServerInterceptor(newGate(), t.options()...)(next)
	return []pair{pairOf("connectgate v2, interceptor", t, c.ctx, func(ctx context.Context) {
		check(gated(ctx, c.spec, c.stream))
	}, func(ctx context.Context) { _ = next(ctx, c.spec, c.stream) })}
}

func (c *httpCall) pairs(t told) []pair {
	return []pair{httpPair("httpgate", t, c.w, c.r, httpgate.NewMiddleware(newGate(), t.options()...))}
}

// httpPair is a handler that does nothing. If calls have spans, both halves copy the request for the span's context.
func httpPair(name string, t told, w http.ResponseWriter, r *http.Request, middleware func(http.Handler) http.Handler) pair {
	inner := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	serve := func(h http.Handler) func(context.Context) {
		return func(ctx context.Context) {
			req := r
			if t.sdk != nil {
				req = r.WithContext(ctx)
			}
			h.ServeHTTP(w, req)
		}
	}
	return pairOf(name, t, r.Context(), serve(middleware(inner)), serve(inner))
}

// check panics on an error: a case that does not do what it says must not give a number.
func check(err error) {
	if err != nil {
		panic(err)
	}
}
