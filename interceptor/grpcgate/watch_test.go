package grpcgate_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"

	"connectrpc.com/connect"
	connectv2 "connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/connectgate"
	"github.com/rpcgate/rpcgate/interceptor/grpcgate"
	"github.com/rpcgate/rpcgate/internal/conformance/grpchost"
	"github.com/rpcgate/rpcgate/internal/memhttp"
)

const (
	checkRoute = healthv1.Health_Check_FullMethodName
	watchRoute = healthv1.Health_Watch_FullMethodName
)

var serving = &healthv1.HealthCheckResponse{Status: healthv1.HealthCheckResponse_SERVING}

// watching makes a gRPC client send its calls only to a server whose health watch says
// that it serves.
func watching() grpc.DialOption {
	return grpc.WithDefaultServiceConfig(
		`{"loadBalancingConfig": [{"round_robin": {}}], "healthCheckConfig": {"serviceName": ""}}`)
}

// watched are servers with a health service. Each call of a function returns another
// client of the same server.
func watched(t *testing.T, a gate.Admitter) map[string]func() *grpc.ClientConn {
	server := grpc.NewServer(grpcgate.ServerOptions(a)...)
	healthv1.RegisterHealthServer(server, health.NewServer())
	v1, v2 := memhttp.Start(t, healthByConnectV1(a)), memhttp.Start(t, healthByConnectV2(a))
	return map[string]func() *grpc.ClientConn{
		"grpc-go":    func() *grpc.ClientConn { return grpchost.Serve(t, server, watching()) },
		"Connect v1": func() *grpc.ClientConn { return grpchost.DialHTTP(t, v1, watching()) },
		"Connect v2": func() *grpc.ClientConn { return grpchost.DialHTTP(t, v2, watching()) },
	}
}

func healthByConnectV1(a gate.Admitter) http.Handler {
	gated := connect.WithInterceptors(connectgate.NewInterceptor(a))
	mux := http.NewServeMux()
	mux.Handle(checkRoute, connect.NewUnaryHandler(checkRoute, func(
		context.Context, *connect.Request[healthv1.HealthCheckRequest],
	) (*connect.Response[healthv1.HealthCheckResponse], error) {
		return connect.NewResponse(serving), nil
	}, gated))
	mux.Handle(watchRoute, connect.NewServerStreamHandler(watchRoute, func(
		ctx context.Context, _ *connect.Request[healthv1.HealthCheckRequest], s *connect.ServerStream[healthv1.HealthCheckResponse],
	) error {
		if err := s.Send(serving); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	}, gated))
	return mux
}

func healthByConnectV2(a gate.Admitter) http.Handler {
	answer := func(s connectv2.ServerStream) error {
		if err := s.Receive(&healthv1.HealthCheckRequest{}); err != nil {
			return err
		}
		return s.Send(serving)
	}
	server := connectv2.NewServer(connectgate.NewServerInterceptor(a))
	server.Register(connectv2.Method{
		Spec: connectv2.Spec{Procedure: checkRoute},
		Handler: func(_ context.Context, _ connectv2.Spec, s connectv2.ServerStream) error {
			return answer(s)
		},
	})
	server.Register(connectv2.Method{
		Spec: connectv2.Spec{Procedure: watchRoute, StreamType: connectv2.StreamTypeServer},
		Handler: func(ctx context.Context, _ connectv2.Spec, s connectv2.ServerStream) error {
			if err := answer(s); err != nil {
				return err
			}
			<-ctx.Done()
			return ctx.Err()
		},
	})
	mux := http.NewServeMux()
	connecthttp.Mount(mux, server)
	return mux
}

// TestClientsAboveTheCapOfWatchersDoWithoutHealthChecks has a cap of one watcher and
// two clients.
func TestClientsAboveTheCapOfWatchersDoWithoutHealthChecks(t *testing.T) {
	for form, want := range map[gate.Refusal]codes.Code{
		gate.Unimplemented:   codes.OK,
		gate.TooManyRequests: codes.Unavailable, // why it is not enough to refuse them
	} {
		for _, name := range []string{"grpc-go", "Connect v1", "Connect v2"} {
			t.Run(form.String()+", "+name, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					db, watchers := newGate(t, "db", gate.WithMaxWait(0)), newGate(t, "watchers", gate.WithMaxWait(0))
					defer fill(t, db)()
					p, err := gate.NewPolicy(gate.Route("*", db), gate.Route(watchRoute, watchers).Refusal(form))
					if err != nil {
						t.Fatal(err)
					}
					client := watched(t, p)[name]
					check := func(conn *grpc.ClientConn, want codes.Code) {
						_, err := healthv1.NewHealthClient(conn).Check(t.Context(), &healthv1.HealthCheckRequest{})
						wantCode(t, err, want)
						synctest.Wait()
						if n := watchers.InFlight(); n != 1 {
							t.Errorf("%d watchers, want 1", n)
						}
					}
					first := client()
					check(first, codes.OK)
					second := client()
					check(second, want)
					_, _ = first.Close(), second.Close()
					synctest.Wait()
				})
			})
		}
	}
}
