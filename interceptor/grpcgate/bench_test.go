package grpcgate_test

import (
	"context"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

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

// BenchmarkRefusal measures a refusal in the interceptor with all its details,
// against Base, which returns a status that was made once.
func BenchmarkRefusal(b *testing.B) {
	g := gate.Must(gate.New("bench", 1, gate.WithMaxWait(0)))
	if _, err := g.TryAcquire(gate.Call{}); err != nil {
		b.Fatal(err)
	}
	info := &grpc.UnaryServerInfo{FullMethod: benchRoute}
	once := status.Error(codes.ResourceExhausted, "server busy")
	for name, intercept := range map[string]grpc.UnaryServerInterceptor{
		"Base": func(context.Context, any, *grpc.UnaryServerInfo, grpc.UnaryHandler) (any, error) { return nil, once },
		"Gate": grpcgate.UnaryServerInterceptor(g),
	} {
		b.Run(name, func(b *testing.B) {
			ctx := callContext(b)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := intercept(ctx, nil, info, nil); err == nil {
					b.Fatal("not refused")
				}
			}
		})
	}
}
