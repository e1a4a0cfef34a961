package cpu

import (
	"context"
	"io"
	"net/http"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/internal/bench/echo"
)

// Floors of refusals are the cheapest answers that can be given at the same point: made once, without details, delay or
// telemetry. No gate there can be cheaper.

func errBusy() error { return status.Error(codes.ResourceExhausted, "server busy") }

func grpcFloor(*gate.Gate) (echo.Server, error) {
	err := errBusy()
	return echo.NewGRPC(func(r grpc.ServiceRegistrar) grpc.ServiceRegistrar {
		return instead{r, func(context.Context) error { return err }}
	})
}

// instead registers services all of whose unary methods do something else before the request is decoded.
type instead struct {
	grpc.ServiceRegistrar
	do func(context.Context) error
}

func (i instead) RegisterService(desc *grpc.ServiceDesc, impl any) {
	changed := *desc
	changed.Methods = append([]grpc.MethodDesc(nil), desc.Methods...)
	for m := range changed.Methods {
		changed.Methods[m].Handler = func(
			_ any, ctx context.Context, _ func(any) error, _ grpc.UnaryServerInterceptor,
		) (any, error) {
			return nil, i.do(ctx)
		}
	}
	i.ServiceRegistrar.RegisterService(&changed, impl)
}

func tapFloor(*gate.Gate) (echo.Server, error) {
	err := errBusy()
	return echo.NewGRPC(nil, grpc.InTapHandle(func(ctx context.Context, _ *tap.Info) (context.Context, error) {
		return ctx, err
	}))
}

func connectFloor(*gate.Gate) (echo.Server, error) {
	answer := []byte(`{"code":"resource_exhausted","message":"server busy"}`)
	return echo.NewHTTP(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = w.Write(answer)
		_, _ = io.CopyN(io.Discard, r.Body, small) // as much as Middleware does at that size
	}))
}
