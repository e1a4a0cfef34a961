package gatewaygate_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"

	"github.com/rpcgate/rpcgate/gate"
	testv1 "github.com/rpcgate/rpcgate/gen/rpcgate/test/v1"
	"github.com/rpcgate/rpcgate/interceptor/gatewaygate"
	"github.com/rpcgate/rpcgate/interceptor/grpcgate"
)

type echo struct {
	testv1.UnimplementedEchoServiceServer
}

func (echo) Unary(_ context.Context, req *testv1.UnaryRequest) (*testv1.UnaryResponse, error) {
	if req.GetText() == "missing" {
		return nil, status.Error(codes.NotFound, "no such thing")
	}
	return &testv1.UnaryResponse{Text: req.GetText()}, nil
}

func (echo) ServerStream(req *testv1.ServerStreamRequest, s grpc.ServerStreamingServer[testv1.ServerStreamResponse]) error {
	return s.Send(&testv1.ServerStreamResponse{Text: req.GetText()})
}

// gateway serves the two methods as the code of protoc-gen-grpc-gateway does, from
// a grpc.Server behind g.
func gateway(t *testing.T, g *gate.Gate, opts ...gatewaygate.Option) http.Handler {
	t.Helper()
	lis := bufconn.Listen(1 << 16)
	srv := grpc.NewServer(grpcgate.ServerOptions(g)...)
	testv1.RegisterEchoServiceServer(srv, echo{})
	go func() { _ = srv.Serve(lis) }()
	conn, err := grpc.NewClient("passthrough:///echo", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		srv.Stop()
	})
	client := testv1.NewEchoServiceClient(conn)
	mux := runtime.NewServeMux(gatewaygate.ServeMuxOptions(opts...)...)
	handle := func(path string, h runtime.HandlerFunc) {
		if err := mux.HandlePath(http.MethodGet, path, h); err != nil {
			t.Fatal(err)
		}
	}
	handle("/v1/echo", func(w http.ResponseWriter, r *http.Request, _ map[string]string) {
		_, out := runtime.MarshalerForRequest(mux, r)
		ctx, err := runtime.AnnotateContext(r.Context(), mux, r, testv1.EchoService_Unary_FullMethodName)
		if err != nil {
			t.Error(err)
		}
		var md runtime.ServerMetadata
		res, err := client.Unary(ctx, &testv1.UnaryRequest{Text: r.FormValue("text")},
			grpc.Header(&md.HeaderMD), grpc.Trailer(&md.TrailerMD))
		ctx = runtime.NewServerMetadataContext(ctx, md)
		if err != nil {
			runtime.HTTPError(ctx, mux, out, w, r, err)
			return
		}
		runtime.ForwardResponseMessage(ctx, mux, out, w, r, res)
	})
	handle("/v1/stream", func(w http.ResponseWriter, r *http.Request, _ map[string]string) {
		_, out := runtime.MarshalerForRequest(mux, r)
		ctx, err := runtime.AnnotateContext(r.Context(), mux, r, testv1.EchoService_ServerStream_FullMethodName)
		if err != nil {
			t.Error(err)
		}
		stream, err := client.ServerStream(ctx, &testv1.ServerStreamRequest{Text: r.FormValue("text")})
		if err != nil {
			runtime.HTTPError(ctx, mux, out, w, r, err)
			return
		}
		runtime.ForwardResponseStream(runtime.NewServerMetadataContext(ctx, runtime.ServerMetadata{}), mux, out, w, r,
			func() (proto.Message, error) { return stream.Recv() })
	})
	return mux
}

func get(h http.Handler, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Header.Set("X-Request-Id", "abc-123")
	h.ServeHTTP(w, r)
	return w
}

func newGate(opts ...gate.Option) *gate.Gate {
	opts = append([]gate.Option{
		gate.WithMaxWait(0), gate.WithRetryDelay(1200*time.Millisecond, 1200*time.Millisecond),
	}, opts...)
	return gate.Must(gate.New("db", 1, opts...))
}

func TestRefusalIsToldToRESTClients(t *testing.T) {
	for _, tc := range []struct {
		name, path string
		opts       []gate.Option
		status     int
		body       string
	}{
		{"unary", "/v1/echo?text=hi", nil, 429, `{"error":"server_busy","requestId":"abc-123"}` + "\n"},
		{"unary unavailable", "/v1/echo?text=hi", []gate.Option{gate.WithRefusal(gate.ServiceUnavailable)}, 503,
			`{"error":"server_busy","requestId":"abc-123"}` + "\n"},
		{"stream", "/v1/stream?text=hi", nil, 429, `{"error":{"code":8,"message":"server busy","details":[]}}` + "\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGate(tc.opts...)
				h := gateway(t, g)
				lease, err := g.TryAcquire(gate.Call{})
				if err != nil {
					t.Fatal(err)
				}
				w := get(h, tc.path)
				body := strings.ReplaceAll(w.Body.String(), " ", "")
				if w.Code != tc.status || w.Header().Get("Retry-After") != "2" || body != strings.ReplaceAll(tc.body, " ", "") {
					t.Errorf("got %d, Retry-After %q, %s\nwant %d, 2, %s",
						w.Code, w.Header().Get("Retry-After"), w.Body, tc.status, tc.body)
				}
				lease.Release()
				if w := get(h, tc.path); w.Code != 200 || w.Header().Get("Retry-After") != "" || !strings.Contains(w.Body.String(), "hi") {
					t.Errorf("once there is room: got %d, %v, %s", w.Code, w.Header(), w.Body)
				}
				if n := g.InFlight(); n != 0 {
					t.Errorf("%d in flight at the end, want 0", n)
				}
			})
		})
	}
}

func TestOtherErrorsAreLeftToTheErrorHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := get(gateway(t, newGate()), "/v1/echo?text=missing")
		if w.Code != 404 || w.Header().Get("Retry-After") != "" || !strings.Contains(w.Body.String(), "no such thing") {
			t.Errorf("default: got %d, %v, %s", w.Code, w.Header(), w.Body)
		}
		own := func(_ context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, w http.ResponseWriter, _ *http.Request, _ error) {
			w.WriteHeader(http.StatusTeapot)
		}
		if w := get(gateway(t, newGate(), gatewaygate.WithErrorHandler(own)), "/v1/echo?text=missing"); w.Code != http.StatusTeapot {
			t.Errorf("with a handler of its own: got %d, want %d", w.Code, http.StatusTeapot)
		}
	})
}
