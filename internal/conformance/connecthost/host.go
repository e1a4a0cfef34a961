package connecthost

import (
	"context"
	"net/http"
	"testing"

	"connectrpc.com/connect"
	connectv2 "connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"connectrpc.com/grpchealth"

	testv1connectv2 "github.com/rpcgate/rpcgate/gen/connectv2/rpcgate/test/v1/testv1connect"
	"github.com/rpcgate/rpcgate/gen/rpcgate/test/v1/testv1connect"
	"github.com/rpcgate/rpcgate/interceptor/connectgate"
	"github.com/rpcgate/rpcgate/internal/conformance"
)

// Protocol is what a client speaks.
type Protocol string

// The protocols.
const (
	Connect Protocol = "Connect"
	GRPC    Protocol = "gRPC"
	GRPCWeb Protocol = "gRPC-Web"
)

// All are the hosts of this package.
func All() []conformance.Host {
	var all []conformance.Host
	for _, p := range []Protocol{Connect, GRPC, GRPCWeb} {
		all = append(all, V1(p), V2(p), MiddlewareV1(p), MiddlewareV2(p))
	}
	return all
}

// V1 is a Connect v1 server with connectgate.NewInterceptor.
func V1(p Protocol) conformance.Host {
	h := host("Connect v1", p, func(s conformance.Setup) http.Handler {
		return HandlerV1(s.Handler, InterceptorsV1(s)...)
	})
	h.Lacks["RefusedWhileTheBodyIsUnderWayOverHttp1"] = conformance.ReadFirst
	return h
}

// V2 is a Connect v2 server with connectgate.NewServerInterceptor.
func V2(p Protocol) conformance.Host {
	h := host("Connect v2", p, func(s conformance.Setup) http.Handler {
		return HandlerV2(s.Handler, InterceptorsV2(s)...)
	})
	h.BeforeDecode = true
	return h
}

// MiddlewareV1 is a Connect v1 server with connectgate.NewMiddleware and the
// interceptor, which handles the errors of handlers and gates messages.
func MiddlewareV1(p Protocol) conformance.Host {
	h := host("Connect middleware and v1", p, func(s conformance.Setup) http.Handler {
		inner := HandlerV1(s.Handler, InterceptorsV1(s)...)
		return connectgate.NewMiddleware(s.Admitter, s.Options...)(inner)
	})
	h.BeforeDecode = true
	return h
}

// MiddlewareV2 is the same with Connect v2.
func MiddlewareV2(p Protocol) conformance.Host {
	h := host("Connect middleware and v2", p, func(s conformance.Setup) http.Handler {
		inner := HandlerV2(s.Handler, InterceptorsV2(s)...)
		return connectgate.NewMiddleware(s.Admitter, s.Options...)(inner)
	})
	h.BeforeDecode = true
	return h
}

// host serves a handler, behind connectgate.TrailersOnly as a server should.
func host(name string, p Protocol, handler func(conformance.Setup) http.Handler) conformance.Host {
	lacks := map[string]string{}
	if p == GRPC {
		lacks["CallerThatLeavesWhileWaitingOverHttp1FreesItsTurn"] = conformance.NoHTTP1
		lacks["RefusedBodiesLeaveTheConnectionUsableOverHttp1"] = conformance.NoHTTP1
		lacks["RefusedWhileTheBodyIsUnderWayOverHttp1"] = conformance.NoHTTP1
		lacks["SlowReaderDoesNotKeepALease"] = conformance.NoHTTP1
	} else {
		lacks["DrainingTellsAttemptsInTurnTheShortestDelay"] = conformance.NoAttempts
	}
	return conformance.Host{
		Name:   name + " by " + string(p),
		Shapes: conformance.Shapes(),
		Lacks:  lacks,
		Carriers: func(shape conformance.Shape) conformance.Carriers {
			return conformance.Carriers{
				Code: true, Details: true, Message: true,
				Pushback:   p != Connect,
				RetryAfter: p == Connect,
				HTTPStatus: p == Connect && shape == conformance.Unary,
			}
		},
		Start: func(t testing.TB, s conformance.Setup) conformance.Client {
			return NewClient(s.Serve(t, connectgate.TrailersOnly(handler(s))), p)
		},
	}
}

// HandlerV1 serves the echo service in Connect v1, and its health, with an
// interceptors.
func HandlerV1(h conformance.Handler, gated ...connect.Interceptor) http.Handler {
	opts := []connect.HandlerOption{
		connect.WithRecover(func(context.Context, connect.Spec, http.Header, any) error {
			return connect.NewError(connect.CodeInternal, nil)
		}),
		connect.WithInterceptors(gated...),
	}
	mux := http.NewServeMux()
	mux.Handle(testv1connect.NewEchoServiceHandler(serviceV1{h}, opts...))
	mux.Handle(grpchealth.NewHandler(grpchealth.NewStaticChecker(), opts...))
	conformance.HandleProbes(mux)
	return mux
}

// HandlerV2 is the same in Connect v2.
func HandlerV2(h conformance.Handler, gated ...connectv2.ServerInterceptor) http.Handler {
	server := connectv2.NewServer(append([]connectv2.ServerInterceptor{recoverV2}, gated...)...)
	testv1connectv2.RegisterEchoServiceHandler(server, serviceV2{h})
	server.Register(healthV2())
	mux := http.NewServeMux()
	connecthttp.Mount(mux, server)
	conformance.HandleProbes(mux)
	return mux
}

// recoverV2 answers a panic with Internal.
func recoverV2(next connectv2.ServerFunc) connectv2.ServerFunc {
	return func(ctx context.Context, spec connectv2.Spec, stream connectv2.ServerStream) (err error) {
		defer func() {
			if recover() != nil {
				err = connectv2.NewError(connectv2.CodeInternal, "panic")
			}
		}()
		return next(ctx, spec, stream)
	}
}
