package cpu

import (
	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/bulkhead"
	"github.com/failsafe-go/failsafe-go/failsafegrpc"
	"google.golang.org/grpc"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/connectgate"
	"github.com/rpcgate/rpcgate/interceptor/grpcgate"
	"github.com/rpcgate/rpcgate/internal/bench/echo"
)

// waitingBytes is what a waiting call may cost of the server's memory.
const waitingBytes = 8 << 10

func grpcVariants() []variant {
	const group = "grpc-go"
	return []variant{
		{group: group, name: "accepted, no gate", serve: grpcBare},
		{group: group, name: "accepted, interceptor", base: true, serve: grpcInterceptor},
		{group: group, name: "accepted, BeforeDecode", serve: grpcBeforeDecode},
		{group: group, name: "refused, interceptor", does: refuses, small: 1.05, serve: grpcInterceptor},
		{group: group, name: "refused, BeforeDecode", does: refuses, small: 0.55, large: 0.45, serve: grpcBeforeDecode},
		{group: group, name: "refused, TapHandle", does: refuses, small: 0.55, large: 0.1, serve: grpcTap},
		{group: group, name: "refused, failsafe bulkhead, code Unknown", does: refuses, serve: grpcFailsafe},
		{group: group, name: "floor: bare status before decode", does: refuses, serve: grpcFloor},
		{group: group, name: "floor: bare status at the tap", does: refuses, serve: tapFloor},
	}
}

func connectVariants() []variant {
	const group = "Connect v1"
	return []variant{
		{group: group, name: "accepted, no gate", serve: connectBare},
		{group: group, name: "accepted, interceptor", base: true, serve: connectInterceptor},
		{group: group, name: "accepted, Middleware", serve: connectMiddleware},
		{group: group, name: "refused, interceptor", does: refuses, small: 1.05, serve: connectInterceptor},
		{group: group, name: "refused, Middleware", does: refuses, small: 0.55, large: 0.45, serve: connectMiddleware},
		{group: group, name: "floor: fixed bytes of a handler", does: refuses, serve: connectFloor},
	}
}

func connectV2Variants() []variant {
	const group = "Connect v2"
	return []variant{
		{group: group, name: "accepted, no gate", serve: connectV2Bare},
		{group: group, name: "accepted, interceptor", base: true, serve: connectV2Interceptor},
		{group: group, name: "accepted, Middleware", serve: connectV2Middleware},
		{group: group, name: "refused, interceptor (before decode)", does: refuses, small: 1.05, large: 0.45,
			serve: connectV2Interceptor},
		{group: group, name: "refused, Middleware", does: refuses, small: 0.55, large: 0.45, serve: connectV2Middleware},
	}
}

// parkingVariants come last; see perCall.
func parkingVariants() []variant {
	const small, large = waitingBytes, waitingBytes
	return []variant{
		{name: "grpc-go, interceptor (after decode)", does: parks, serve: grpcInterceptor},
		{name: "grpc-go, BeforeDecode", does: parks, small: small, large: large, serve: grpcBeforeDecode},
		{name: "Connect v1, interceptor (after decode)", does: parks, serve: connectInterceptor},
		{name: "Connect v1, Middleware", does: parks, small: small, large: large, serve: connectMiddleware},
		{name: "Connect v2, interceptor (before decode)", does: parks, small: small, large: large,
			serve: connectV2Interceptor},
	}
}

func grpcBare(*gate.Gate) (echo.Server, error) { return echo.NewGRPC(nil) }

func grpcInterceptor(g *gate.Gate) (echo.Server, error) {
	return echo.NewGRPC(nil, grpcgate.ServerOptions(g)...)
}

func grpcBeforeDecode(g *gate.Gate) (echo.Server, error) {
	return echo.NewGRPC(func(r grpc.ServiceRegistrar) grpc.ServiceRegistrar { return grpcgate.BeforeDecode(r, g) })
}

func grpcTap(g *gate.Gate) (echo.Server, error) {
	return echo.NewGRPC(nil, append(grpcgate.ServerOptions(g), grpc.InTapHandle(grpcgate.TapHandle(g)))...)
}

func grpcFailsafe(*gate.Gate) (echo.Server, error) {
	wall := bulkhead.New[any](1)
	wall.TryAcquirePermit()
	intercept := failsafegrpc.NewUnaryServerInterceptor[any](failsafe.Policy[any](wall))
	return echo.NewGRPC(nil, grpc.UnaryInterceptor(intercept))
}

func connectBare(*gate.Gate) (echo.Server, error) { return echo.NewHTTP(echo.ConnectV1()) }

func connectInterceptor(g *gate.Gate) (echo.Server, error) {
	return echo.NewHTTP(echo.ConnectV1(connectgate.NewInterceptor(g)))
}

func connectMiddleware(g *gate.Gate) (echo.Server, error) {
	return echo.NewHTTP(connectgate.NewMiddleware(g)(echo.ConnectV1()))
}

func connectV2Bare(*gate.Gate) (echo.Server, error) { return echo.NewHTTP(echo.ConnectV2()) }

func connectV2Interceptor(g *gate.Gate) (echo.Server, error) {
	return echo.NewHTTP(echo.ConnectV2(connectgate.NewServerInterceptor(g)))
}

func connectV2Middleware(g *gate.Gate) (echo.Server, error) {
	return echo.NewHTTP(connectgate.NewMiddleware(g)(echo.ConnectV2()))
}
