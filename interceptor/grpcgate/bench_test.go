package grpcgate_test

import (
	"context"
	"testing"

	"google.golang.org/grpc"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor"
	"github.com/rpcgate/rpcgate/interceptor/grpcgate"
)

const benchRoute = "/rpcgate.test.v1.EchoService/Unary"

// BenchmarkUnary measures what the interceptor adds to a call, apart from the
// call: each sub-benchmark against Base, which has no interceptor.
func BenchmarkUnary(b *testing.B) {
	g := gate.Must(gate.New("bench", 16))
	policy, err := gate.NewPolicy(gate.Route("/rpcgate.test.v1.EchoService/*", g))
	if err != nil {
		b.Fatal(err)
	}
	info := &grpc.UnaryServerInfo{FullMethod: benchRoute}
	handler := func(_ context.Context, req any) (any, error) { return req, nil }
	run := func(b *testing.B, call func(context.Context) (any, error)) {
		ctx := callContext(b)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := call(ctx); err != nil {
				b.Fatal(err)
			}
		}
	}
	with := func(a gate.Admitter, opts ...grpcgate.Option) func(*testing.B) {
		intercept := grpcgate.UnaryServerInterceptor(a, opts...)
		return func(b *testing.B) {
			run(b, func(ctx context.Context) (any, error) { return intercept(ctx, nil, info, handler) })
		}
	}
	b.Run("Base", func(b *testing.B) {
		run(b, func(ctx context.Context) (any, error) { return handler(ctx, nil) })
	})
	b.Run("Gate", with(g))
	b.Run("GateWithoutTelemetry", with(g, interceptor.WithoutTelemetry()))
	b.Run("Policy", with(policy))
}
