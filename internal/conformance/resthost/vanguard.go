package resthost

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"connectrpc.com/vanguard"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"

	testv1 "github.com/rpcgate/rpcgate/gen/rpcgate/test/v1"
	"github.com/rpcgate/rpcgate/interceptor/connectgate"
	"github.com/rpcgate/rpcgate/internal/conformance"
	"github.com/rpcgate/rpcgate/internal/conformance/connecthost"
	"github.com/rpcgate/rpcgate/internal/conformance/grpchost"
)

// All are the hosts of this package.
func All() []conformance.Host {
	return []conformance.Host{VanguardConnect(), VanguardGRPC(), VanguardGRPCByConnect(), Gateway()}
}

// VanguardConnect is a Connect v1 server with connectgate.NewInterceptor, behind
// Vanguard.
func VanguardConnect() conformance.Host {
	return vanguardREST("Vanguard over Connect by REST", func(s conformance.Setup) http.Handler {
		return connecthost.HandlerV1(s.Handler, connecthost.InterceptorsV1(s)...)
	})
}

// VanguardGRPC is a grpc-go server with grpcgate.ServerOptions, behind Vanguard.
// connectgate.Transcoded, between the two, turns the delay into a header.
func VanguardGRPC() conformance.Host {
	return vanguardREST("Vanguard over grpc-go by REST", grpcServer, overGRPC()...)
}

// VanguardGRPCByConnect is the same with clients of Connect. It has no streams of
// requests: Vanguard 0.4 holds a lock while it waits for a message, and grpc-go needs
// that lock to end the call. Transcoded solves that for refused calls, but not for a
// handler that ends a stream which its client keeps open.
func VanguardGRPCByConnect() conformance.Host {
	return conformance.Host{
		Name:   "Vanguard over grpc-go by Connect",
		Shapes: []conformance.Shape{conformance.Unary, conformance.ServerStream},
		Lacks:  lacks(),
		Carriers: func(shape conformance.Shape) conformance.Carriers {
			unary := shape == conformance.Unary
			return conformance.Carriers{
				Code: true, Details: true, Message: true, HTTPStatus: unary, RetryAfter: unary,
			}
		},
		Start: func(t testing.TB, s conformance.Setup) conformance.Client {
			server := s.Serve(t, transcoder(t, grpcServer(s), overGRPC()...))
			return connecthost.NewClient(server, connecthost.Connect)
		},
	}
}

func vanguardREST(
	name string, handler func(conformance.Setup) http.Handler, opts ...vanguard.ServiceOption,
) conformance.Host {
	return conformance.Host{
		Name:   name,
		Shapes: []conformance.Shape{conformance.Unary}, // Vanguard has no streams of JSON
		Lacks:  lacks(),
		Carriers: func(conformance.Shape) conformance.Carriers {
			return conformance.Carriers{Code: true, Details: true, Message: true, HTTPStatus: true, RetryAfter: true}
		},
		Start: func(t testing.TB, s conformance.Setup) conformance.Client {
			server := s.Serve(t, transcoder(t, handler(s), opts...))
			return &client{server: server, http: server.ClientHTTP2(), deadline: func(left time.Duration) (header, value string) {
				return "X-Server-Timeout", strconv.FormatFloat(left.Seconds(), 'f', -1, 64)
			}}
		},
	}
}

func lacks() map[string]string {
	return map[string]string{
		"DrainingTellsAttemptsInTurnTheShortestDelay": conformance.NoAttempts,
		"HttpProbesPassAFullGate":                     conformance.NoProbes,
		"RefusedWhileTheBodyIsUnderWay":               conformance.ReadFirst,
		"RefusedWhileTheBodyIsUnderWayOverHttp1":      conformance.ReadFirst,
	}
}

func grpcServer(s conformance.Setup) http.Handler {
	server := grpc.NewServer(grpchost.Interceptors(s)...)
	grpchost.Register(server, s.Handler)
	return connectgate.Transcoded(server)
}

// overGRPC are the options for what a grpc.Server understands.
func overGRPC() []vanguard.ServiceOption {
	return []vanguard.ServiceOption{
		vanguard.WithTargetProtocols(vanguard.ProtocolGRPC), vanguard.WithTargetCodecs(vanguard.CodecProto),
	}
}

// transcoder serves the unary methods of h to REST clients, and all of them to others.
func transcoder(t testing.TB, h http.Handler, opts ...vanguard.ServiceOption) http.Handler {
	services := []*vanguard.Service{
		vanguard.NewService(testv1.EchoService_ServiceDesc.ServiceName, h, opts...),
		vanguard.NewService(grpc_health_v1.Health_ServiceDesc.ServiceName, h, opts...),
	}
	transcoded, err := vanguard.NewTranscoder(services, vanguard.WithRules(
		post("rpcgate.test.v1.EchoService.Unary", unaryPath),
		post("grpc.health.v1.Health.Check", healthPath)))
	if err != nil {
		t.Fatal(err)
	}
	return transcoded
}

func post(method, path string) *annotations.HttpRule {
	return &annotations.HttpRule{Selector: method, Pattern: &annotations.HttpRule_Post{Post: path}, Body: "*"}
}
