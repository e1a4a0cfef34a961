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
	"github.com/rpcgate/rpcgate/internal/bench/telemetry"
)

func grpcVariants() []variant {
	const group = "grpc-go"
	return []variant{
		{group: group, name: "accepted, no gate", serve: grpcBare},
		{group: group, name: "accepted, interceptor", base: true, serve: grpcInterceptor},
		{group: group, name: "accepted, BeforeDecode", serve: grpcBeforeDecode},
		{group: group, name: "refused, interceptor", does: refuses, small: 1.4, serve: grpcInterceptor},
		{group: group, name: "refused, BeforeDecode", does: refuses, small: 1.4, serve: grpcBeforeDecode},
		{group: group, name: "refused, TapHandle", does: refuses, small: 0.8, large: 0.25, serve: grpcTap},
		{group: group, name: "refused, failsafe bulkhead, code Unknown", does: refuses, serve: grpcFailsafe},
		{group: group, name: "floor: bare status before decode", does: refuses, serve: grpcFloor},
		{group: group, name: "floor: bare status at the tap", does: refuses, serve: tapFloor},
	}
}

// otelVariants have otelgrpc and an SDK.
func otelVariants(sdk *telemetry.SDK) []variant {
	const group = "grpc-go with otelgrpc and an SDK"
	return []variant{
		{group: group, name: "accepted, no gate", base: true, serve: func(*gate.Gate) (echo.Server, error) {
			return echo.NewGRPC(nil, sdk.OTelGRPC())
		}},
		{group: group, name: "accepted, interceptor", small: 1.12, serve: func(g *gate.Gate) (echo.Server, error) {
			return echo.NewGRPC(nil, append(grpcgate.ServerOptions(g, sdk.Options()...), sdk.OTelGRPC())...)
		}},
	}
}

func connectVariants() []variant {
	const group = "Connect v1"
	return []variant{
		{group: group, name: "accepted, no gate", serve: connectBare},
		{group: group, name: "accepted, interceptor", base: true, serve: connectInterceptor},
		{group: group, name: "accepted, Middleware", serve: connectMiddleware},
		{group: group, name: "refused, interceptor", does: refuses, small: 1.45, serve: connectInterceptor},
		{group: group, name: "refused, Middleware", does: refuses, small: 1, large: 0.35, serve: connectMiddleware},
		{group: group, name: "floor: fixed bytes of a handler", does: refuses, serve: connectFloor},
	}
}

func connectV2Variants() []variant {
	const group = "Connect v2"
	return []variant{
		{group: group, name: "accepted, no gate", serve: connectV2Bare},
		{group: group, name: "accepted, interceptor", base: true, serve: connectV2Interceptor},
		{group: group, name: "accepted, Middleware", serve: connectV2Middleware},
		{group: group, name: "refused, interceptor (before decode)", does: refuses, small: 1.45,
			serve: connectV2Interceptor},
		{group: group, name: "refused, Middleware", does: refuses, small: 1, large: 0.35, serve: connectV2Middleware},
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
