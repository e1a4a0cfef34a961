package resthost

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/proto"

	"github.com/rpcgate/rpcgate/gate"
	testv1 "github.com/rpcgate/rpcgate/gen/rpcgate/test/v1"
	"github.com/rpcgate/rpcgate/interceptor"
	"github.com/rpcgate/rpcgate/interceptor/gatewaygate"
	"github.com/rpcgate/rpcgate/internal/conformance"
	"github.com/rpcgate/rpcgate/internal/conformance/grpchost"
)

// Gateway is a grpc-gateway with gatewaygate.ServeMuxOptions in front of a grpc-go
// server in the same process, which gatewaygate.InProcess connects it to.
func Gateway() conformance.Host {
	return conformance.Host{
		Name:   "grpc-gateway",
		Shapes: []conformance.Shape{conformance.Unary, conformance.ServerStream},
		Carriers: func(conformance.Shape) conformance.Carriers {
			return conformance.Carriers{HTTPStatus: true, RetryAfter: true}
		},
		Lacks: map[string]string{
			"DrainingTellsAttemptsInTurnTheShortestDelay": conformance.NoAttempts,
			"RefusedWhileTheBodyIsUnderWay":               conformance.ReadFirst,
			"RefusedWhileTheBodyIsUnderWayOverHttp1":      conformance.ReadFirst,
		},
		Start: startGateway,
	}
}

func startGateway(t testing.TB, s conformance.Setup) conformance.Client {
	// The gateway sends its caller's address in X-Forwarded-For.
	s.Options = append([]interceptor.Option{interceptor.WithTrustedProxies("127.0.0.1")}, s.Options...)
	srv := grpc.NewServer(grpchost.Interceptors(s)...)
	grpchost.Register(srv, s.Handler)
	conn, err := gatewaygate.InProcess(srv)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		srv.Stop()
	})
	mux, err := NewGateway(conn, gatewaygate.WithIncomingHeaderMatcher(passTestHeaders))
	if err != nil {
		t.Fatal(err)
	}
	server := s.Serve(t, mux)
	return &client{server: server, http: server.ClientHTTP2(), deadline: func(left time.Duration) (header, value string) {
		return "Grpc-Timeout", fmt.Sprintf("%dm", left.Milliseconds())
	}}
}

// passTestHeaders also passes the headers that the cases send.
func passTestHeaders(key string) (string, bool) {
	if key = strings.ToLower(key); key == "x-tenant" || key == "x-priority" {
		return key, true
	}
	return runtime.DefaultHeaderMatcher(key)
}

// NewGateway serves the echo service behind conn, and its health, like code of
// protoc-gen-grpc-gateway: a call is the POST of its request.
func NewGateway(conn grpc.ClientConnInterface, opts ...gatewaygate.Option) (http.Handler, error) {
	echo, health := testv1.NewEchoServiceClient(conn), grpc_health_v1.NewHealthClient(conn)
	options := gatewaygate.ServeMuxOptions(opts...)
	for _, path := range gate.HTTPProbes() {
		options = append(options, runtime.WithHealthEndpointAt(health, path))
	}
	mux := runtime.NewServeMux(options...)
	for _, route := range []struct {
		path  string
		serve runtime.HandlerFunc
	}{
		{unaryPath, serveUnary(mux, conformance.Unary.Route(), echo.Unary)},
		{healthPath, serveUnary(mux, grpc_health_v1.Health_Check_FullMethodName, health.Check)},
		{streamPath, serveStream(mux, conformance.ServerStream.Route(), echo.ServerStream)},
	} {
		if err := mux.HandlePath(http.MethodPost, route.path, route.serve); err != nil {
			return nil, err
		}
	}
	return mux, nil
}

// message is a pointer to a T that is a message.
type message[T any] interface {
	*T
	proto.Message
}

// decode reads the request of a call, and returns the context to make it with.
func decode(
	ctx context.Context, mux *runtime.ServeMux, in runtime.Marshaler, r *http.Request, route string, req proto.Message,
) (context.Context, error) {
	annotated, err := runtime.AnnotateContext(ctx, mux, r, route)
	if err != nil {
		return ctx, err
	}
	return annotated, in.NewDecoder(r.Body).Decode(req)
}

func serveUnary[T any, Req message[T], Res proto.Message](
	mux *runtime.ServeMux, route string, call func(context.Context, Req, ...grpc.CallOption) (Res, error),
) runtime.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request, _ map[string]string) {
		in, out := runtime.MarshalerForRequest(mux, r)
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		req := Req(new(T))
		ctx, err := decode(ctx, mux, in, r, route, req)
		if err != nil {
			runtime.HTTPError(ctx, mux, out, w, r, err)
			return
		}
		var md runtime.ServerMetadata
		res, err := call(ctx, req, grpc.Header(&md.HeaderMD), grpc.Trailer(&md.TrailerMD))
		ctx = runtime.NewServerMetadataContext(ctx, md)
		if err != nil {
			runtime.HTTPError(ctx, mux, out, w, r, err)
			return
		}
		runtime.ForwardResponseMessage(ctx, mux, out, w, r, res)
	}
}

func serveStream[T any, Req message[T], Res any, M message[Res]](
	mux *runtime.ServeMux, route string,
	call func(context.Context, Req, ...grpc.CallOption) (grpc.ServerStreamingClient[Res], error),
) runtime.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request, _ map[string]string) {
		in, out := runtime.MarshalerForRequest(mux, r)
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		req := Req(new(T))
		ctx, err := decode(ctx, mux, in, r, route, req)
		if err != nil {
			runtime.HTTPError(ctx, mux, out, w, r, err)
			return
		}
		stream, err := call(ctx, req)
		if err != nil {
			runtime.HTTPError(ctx, mux, out, w, r, err)
			return
		}
		runtime.ForwardResponseStream(runtime.NewServerMetadataContext(ctx, runtime.ServerMetadata{}), mux, out, w, r,
			func() (proto.Message, error) {
				res, err := stream.Recv()
				return M(res), err
			})
	}
}
