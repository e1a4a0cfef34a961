package cpu

import (
	"context"
	"net/http"
	"sync/atomic"

	"connectrpc.com/connect"
	connectv2 "connectrpc.com/connect/v2"
	"google.golang.org/grpc"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/internal/bench/echo"
)

// spot is a point on the way of a call at which it can wait: at a gate, or at nothing but a blocker, which is the least
// that a call costs that waits there.
type spot struct {
	name  string
	gated func(*gate.Gate) (echo.Server, error)
	floor func(*blocker) (echo.Server, error)
}

func spots() []spot {
	return []spot{
		{"grpc-go, interceptor (after decode)", grpcInterceptor, grpcBlocked},
		{"grpc-go, BeforeDecode", grpcBeforeDecode, grpcBlockedBeforeDecode},
		{"Connect v1, interceptor (after decode)", connectInterceptor, connectBlocked},
		{"Connect v1, Middleware", connectMiddleware, handlerBlocked},
		{"Connect v2, interceptor (before decode)", connectV2Interceptor, connectV2Blocked},
	}
}

// parkingVariants come last; see perCall. For each spot there is its floor, and then the gate.
func parkingVariants() []variant {
	var all []variant
	for _, s := range spots() {
		b := new(blocker)
		all = append(all,
			variant{name: s.name + ", floor", does: parks, waiting: b.count, serve: func(*gate.Gate) (echo.Server, error) {
				return s.floor(b)
			}},
			variant{name: s.name, does: parks, serve: s.gated})
	}
	return all
}

// blocker blocks calls until they are canceled.
type blocker struct{ waiting atomic.Int64 }

func (b *blocker) block(ctx context.Context) {
	b.waiting.Add(1)
	<-ctx.Done()
	b.waiting.Add(-1)
}

func (b *blocker) count() int { return int(b.waiting.Load()) }

func grpcBlocked(b *blocker) (echo.Server, error) {
	return echo.NewGRPC(nil, grpc.UnaryInterceptor(
		func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
			b.block(ctx)
			return handler(ctx, req)
		}))
}

func grpcBlockedBeforeDecode(b *blocker) (echo.Server, error) {
	return echo.NewGRPC(func(r grpc.ServiceRegistrar) grpc.ServiceRegistrar {
		return instead{r, func(ctx context.Context) error {
			b.block(ctx)
			return ctx.Err()
		}}
	})
}

func connectBlocked(b *blocker) (echo.Server, error) {
	return echo.NewHTTP(echo.ConnectV1(connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
			b.block(ctx)
			return next(ctx, req)
		}
	})))
}

func handlerBlocked(b *blocker) (echo.Server, error) {
	next := echo.ConnectV1()
	return echo.NewHTTP(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.block(r.Context())
		next.ServeHTTP(w, r)
	}))
}

func connectV2Blocked(b *blocker) (echo.Server, error) {
	return echo.NewHTTP(echo.ConnectV2(func(next connectv2.ServerFunc) connectv2.ServerFunc {
		return func(ctx context.Context, spec connectv2.Spec, stream connectv2.ServerStream) error {
			b.block(ctx)
			return next(ctx, spec, stream)
		}
	}))
}
