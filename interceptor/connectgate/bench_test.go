package connectgate_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"connectrpc.com/connect"
	connectv2 "connectrpc.com/connect/v2"

	"github.com/rpcgate/rpcgate/gate"
	testv1 "github.com/rpcgate/rpcgate/gen/rpcgate/test/v1"
	"github.com/rpcgate/rpcgate/interceptor"
	"github.com/rpcgate/rpcgate/interceptor/connectgate"
)

// The benchmarks come in pairs: without the gate and with it. The difference is
// what the gate costs.

func benchGate(b *testing.B) *gate.Gate {
	b.Helper()
	g, err := gate.New("db", 1<<20)
	if err != nil {
		b.Fatal(err)
	}
	return g
}

func fullGate(b *testing.B) *gate.Gate {
	b.Helper()
	g, err := gate.New("db", 1, gate.WithMaxWait(0))
	if err != nil {
		b.Fatal(err)
	}
	if _, err := g.TryAcquire(gate.Call{}); err != nil {
		b.Fatal(err)
	}
	return g
}

func BenchmarkUnaryV1(b *testing.B) {
	res := connect.NewResponse(&testv1.UnaryResponse{})
	next := func(context.Context, connect.AnyRequest) (connect.AnyResponse, error) { return res, nil }
	req := connect.NewRequest(&testv1.UnaryRequest{})
	req.Header().Set("X-Request-Id", "id-1")
	run := func(b *testing.B, f connect.UnaryFunc) {
		ctx := b.Context()
		b.ReportAllocs()
		for b.Loop() {
			_, _ = f(ctx, req)
		}
	}
	b.Run("Base", func(b *testing.B) { run(b, next) })
	b.Run("Gate", func(b *testing.B) { run(b, connectgate.NewInterceptor(benchGate(b)).WrapUnary(next)) })
	b.Run("GateWithoutTelemetry", func(b *testing.B) {
		run(b, connectgate.NewInterceptor(benchGate(b), interceptor.WithoutTelemetry()).WrapUnary(next))
	})
	b.Run("Refused", func(b *testing.B) { run(b, connectgate.NewInterceptor(fullGate(b)).WrapUnary(next)) })
}

type noStream struct{}

func (noStream) Receive(any) error  { return nil }
func (noStream) SendHeaders() error { return nil }
func (noStream) Send(any) error     { return nil }

func BenchmarkUnaryV2(b *testing.B) {
	next := func(context.Context, connectv2.Spec, connectv2.ServerStream) error { return nil }
	run := func(b *testing.B, f connectv2.ServerFunc) {
		server := connectv2.NewServer()
		spec := connectv2.Spec{Procedure: unaryRoute, Schema: b}
		server.Register(connectv2.Method{Spec: spec, Handler: f})
		info := &connectv2.CallInfo{PeerAddr: "192.0.2.7:1234", Protocol: "connect"}
		info.RequestHeader().Set("X-Request-Id", "id-1")
		ctx := b.Context()
		b.ReportAllocs()
		for b.Loop() {
			_ = server.Call(ctx, unaryRoute, info, noStream{})
		}
	}
	b.Run("Base", func(b *testing.B) { run(b, next) })
	b.Run("Gate", func(b *testing.B) { run(b, connectgate.NewServerInterceptor(benchGate(b))(next)) })
	b.Run("Refused", func(b *testing.B) { run(b, connectgate.NewServerInterceptor(fullGate(b))(next)) })
}

// nowhere is a ResponseWriter that keeps nothing.
type nowhere struct{ header http.Header }

func (w *nowhere) Header() http.Header         { return w.header }
func (w *nowhere) WriteHeader(int)             {}
func (w *nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (w *nowhere) Flush()                      {}

func BenchmarkMiddleware(b *testing.B) {
	next := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	run := func(b *testing.B, h http.Handler, contentType string) {
		r := httptest.NewRequest(http.MethodPost, unaryRoute, nil)
		r.Header.Set("Content-Type", contentType)
		r.Header.Set("X-Request-Id", "id-1")
		w := &nowhere{header: http.Header{}}
		b.ReportAllocs()
		for b.Loop() {
			h.ServeHTTP(w, r)
		}
	}
	b.Run("Base", func(b *testing.B) { run(b, next, "application/json") })
	b.Run("Gate", func(b *testing.B) { run(b, connectgate.NewMiddleware(benchGate(b))(next), "application/json") })
	full := connectgate.NewMiddleware(fullGate(b))(next)
	for _, contentType := range []string{"application/json", "application/connect+proto", "application/grpc"} {
		b.Run("Refused/"+contentType, func(b *testing.B) { run(b, full, contentType) })
	}
	b.Run("RefusedByErrorWriter", func(b *testing.B) {
		refuse, writer := connectgate.NewInterceptor(fullGate(b)).WrapUnary(nil), connect.NewErrorWriter()
		run(b, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, err := refuse(r.Context(), connect.NewRequest(&testv1.UnaryRequest{}))
			_ = writer.Write(w, r, err)
		}), "application/json")
	})
}

func BenchmarkTrailersOnly(b *testing.B) {
	next := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = []string{"application/grpc"}
		_, _ = io.WriteString(w, "12345")
		w.(http.Flusher).Flush()
		w.Header()[http.TrailerPrefix+"Grpc-Status"] = []string{"0"}
	})
	run := func(b *testing.B, h http.Handler) {
		r := httptest.NewRequest(http.MethodPost, unaryRoute, nil)
		r.Header.Set("Content-Type", "application/grpc")
		r.ProtoMajor = 2
		w := &nowhere{header: http.Header{}}
		b.ReportAllocs()
		for b.Loop() {
			clear(w.header)
			h.ServeHTTP(w, r)
		}
	}
	b.Run("Base", func(b *testing.B) { run(b, next) })
	b.Run("Wrapped", func(b *testing.B) { run(b, connectgate.TrailersOnly(next)) })
}
