package gatewaygate_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rpcgate/rpcgate/gate"
	testv1 "github.com/rpcgate/rpcgate/gen/rpcgate/test/v1"
	"github.com/rpcgate/rpcgate/interceptor"
	"github.com/rpcgate/rpcgate/interceptor/gatewaygate"
	"github.com/rpcgate/rpcgate/interceptor/grpcgate"
	"github.com/rpcgate/rpcgate/internal/conformance/resthost"
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

// gateway serves the two methods to REST clients, from a grpc.Server behind g.
func gateway(t *testing.T, g *gate.Gate, opts ...gatewaygate.Option) http.Handler {
	t.Helper()
	srv := grpc.NewServer(grpcgate.ServerOptions(g, interceptor.WithTrustedProxies("127.0.0.1"))...)
	testv1.RegisterEchoServiceServer(srv, echo{})
	conn, err := gatewaygate.InProcess(srv)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		srv.Stop()
	})
	h, err := resthost.NewGateway(conn, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func post(h http.Handler, path, text string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(`{"text":"`+text+`"}`))
	r.Header.Set("X-Request-Id", "abc-123")
	h.ServeHTTP(w, r)
	return w
}

func newGate(opts ...gate.Option) *gate.Gate {
	opts = append([]gate.Option{
		gate.WithMaxWait(0), gate.WithRetryDelay(2*time.Second, 2*time.Second),
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
		{"unary", "/v1/echo", nil, 429, `{"error":"server_busy","requestId":"abc-123"}` + "\n"},
		{"unary unavailable", "/v1/echo", []gate.Option{gate.WithRefusal(gate.ServiceUnavailable)}, 503,
			`{"error":"server_busy","requestId":"abc-123"}` + "\n"},
		{"stream", "/v1/stream", nil, 429, `{"error":{"code":8,"message":"server busy","details":[]}}` + "\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGate(tc.opts...)
				h := gateway(t, g)
				lease, err := g.TryAcquire(gate.Call{})
				if err != nil {
					t.Fatal(err)
				}
				w := post(h, tc.path, "hi")
				body := strings.ReplaceAll(w.Body.String(), " ", "")
				if w.Code != tc.status || w.Header().Get("Retry-After") != "2" || body != strings.ReplaceAll(tc.body, " ", "") {
					t.Errorf("got %d, Retry-After %q, %s\nwant %d, 2, %s",
						w.Code, w.Header().Get("Retry-After"), w.Body, tc.status, tc.body)
				}
				lease.Release()
				if w := post(h, tc.path, "hi"); w.Code != 200 || w.Header().Get("Retry-After") != "" || !strings.Contains(w.Body.String(), "hi") {
					t.Errorf("once there is room: got %d, %v, %s", w.Code, w.Header(), w.Body)
				}
				if n := g.InFlight(); n != 0 {
					t.Errorf("%d in flight at the end, want 0", n)
				}
			})
		})
	}
}

func TestDrainingSendsRESTClientsElsewhere(t *testing.T) {
	for _, path := range []string{"/v1/echo", "/v1/stream"} {
		synctest.Test(t, func(t *testing.T) {
			g := newGate(gate.WithDrainDelay(900*time.Millisecond, 900*time.Millisecond))
			h := gateway(t, g)
			if err := g.Drain(t.Context()); err != nil {
				t.Fatal(err)
			}
			if w := post(h, path, "hi"); w.Code != 503 || w.Header().Get("Retry-After") != "0" {
				t.Errorf("%s: got %d, Retry-After %q, want 503 and 0", path, w.Code, w.Header().Get("Retry-After"))
			}
		})
	}
}

func TestOtherErrorsAreLeftToTheErrorHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := post(gateway(t, newGate()), "/v1/echo", "missing")
		if w.Code != 404 || w.Header().Get("Retry-After") != "" || !strings.Contains(w.Body.String(), "no such thing") {
			t.Errorf("default: got %d, %v, %s", w.Code, w.Header(), w.Body)
		}
		own := func(_ context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, w http.ResponseWriter, _ *http.Request, _ error) {
			w.WriteHeader(http.StatusTeapot)
		}
		if w := post(gateway(t, newGate(), gatewaygate.WithErrorHandler(own)), "/v1/echo", "missing"); w.Code != http.StatusTeapot {
			t.Errorf("with a handler of its own: got %d, want %d", w.Code, http.StatusTeapot)
		}
	})
}

func TestMistakesPanicAndSayWhatIsWrong(t *testing.T) {
	defer func() {
		want := "gatewaygate: option 0: want an Option, got nil\n" +
			"gatewaygate: WithErrorHandler: want a function, got nil\n" +
			"gatewaygate: WithStreamErrorHandler: want a function, got nil\n" +
			"gatewaygate: WithIncomingHeaderMatcher: want a function, got nil"
		if got := recover(); got != want {
			t.Errorf("panic\n%v\nwant\n%s", got, want)
		}
	}()
	gatewaygate.ServeMuxOptions(nil, gatewaygate.WithErrorHandler(nil),
		gatewaygate.WithStreamErrorHandler(nil), gatewaygate.WithIncomingHeaderMatcher(nil))
}
