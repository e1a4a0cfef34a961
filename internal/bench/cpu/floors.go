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

// Floors are what the cheapest answer costs that can be given at the same place: made once, with no details, no delay and
// no telemetry. No gate there can be cheaper.

func errBusy() error { return status.Error(codes.ResourceExhausted, "server busy") }

func grpcFloor(*gate.Gate) (echo.Server, error) {
	return echo.NewGRPC(func(r grpc.ServiceRegistrar) grpc.ServiceRegistrar { return refusing{r, errBusy()} })
}

// refusing registers services all of whose unary methods fail before the request is decoded.
type refusing struct {
	grpc.ServiceRegistrar
	err error
}

func (r refusing) RegisterService(desc *grpc.ServiceDesc, impl any) {
	failing := *desc
	failing.Methods = append([]grpc.MethodDesc(nil), desc.Methods...)
	for i := range failing.Methods {
		failing.Methods[i].Handler = func(any, context.Context, func(any) error, grpc.UnaryServerInterceptor) (any, error) {
			return nil, r.err
		}
	}
	r.ServiceRegistrar.RegisterService(&failing, impl)
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
