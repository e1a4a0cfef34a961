//go:build interop

package interop

import (
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/connectgate"
	"github.com/rpcgate/rpcgate/interceptor/grpcgate"
	"github.com/rpcgate/rpcgate/interceptor/httpgate"
	"github.com/rpcgate/rpcgate/internal/conformance"
	"github.com/rpcgate/rpcgate/internal/conformance/connecthost"
	"github.com/rpcgate/rpcgate/internal/conformance/grpchost"
)

// connectV1 serves the echo service with Connect v1 and the interceptor of a.
func connectV1(a gate.Admitter) http.Handler {
	return connecthost.HandlerV1(conformance.Echo, connectgate.NewInterceptor(a))
}

// connectV2 serves it with Connect v2.
func connectV2(a gate.Admitter) http.Handler {
	return connecthost.HandlerV2(conformance.Echo, connectgate.NewServerInterceptor(a))
}

// grpcServer makes a grpc-go server with the interceptors of a.
func grpcServer(a gate.Admitter) *grpc.Server {
	server := grpc.NewServer(grpcgate.ServerOptions(a)...)
	grpchost.Register(server, conformance.Echo)
	return server
}

// A host starts a server in front of which a stands, and returns its address.
type host func(t *testing.T, a gate.Admitter) (addr string)

// hosts are the ways to serve gRPC after whose refusals clients retry.
func hosts() map[string]host {
	return map[string]host{
		"grpc-go": serveGRPC,
		"grpc-go, before decode": func(t *testing.T, a gate.Admitter) string {
			server := grpc.NewServer()
			grpchost.Register(grpcgate.BeforeDecode(server, a), conformance.Echo)
			return serve(t, server.Serve, server.Stop)
		},
		"grpc-go over net/http": func(t *testing.T, a gate.Admitter) string {
			return serveHTTP(t, connectgate.TrailersOnly(grpcServer(a)))
		},
		"connect v1": serveConnect,
		"connect v2": func(t *testing.T, a gate.Admitter) string {
			return serveHTTP(t, connectgate.TrailersOnly(connectV2(a)))
		},
		"connect v1, middleware": func(t *testing.T, a gate.Admitter) string {
			return serveHTTP(t, connectgate.NewMiddleware(a)(connectV1(a)))
		},
	}
}

func serveGRPC(t *testing.T, a gate.Admitter) string {
	server := grpcServer(a)
	return serve(t, server.Serve, server.Stop)
}

func serveConnect(t *testing.T, a gate.Admitter) string {
	return serveHTTP(t, connectgate.TrailersOnly(connectV1(a)))
}

// serveHTTP serves h by HTTP/1.1 and by HTTP/2 with prior knowledge.
func serveHTTP(t *testing.T, h http.Handler) string { return serveServer(t, &http.Server{Handler: h}) }

// serveConfigured does so as the README recommends.
func serveConfigured(t *testing.T, h http.Handler) string {
	srv := &http.Server{Handler: h}
	httpgate.ConfigureServer(srv)
	return serveServer(t, srv)
}

func serveServer(t *testing.T, srv *http.Server) string {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	srv.Protocols, srv.ReadHeaderTimeout = &protocols, time.Minute
	return serve(t, srv.Serve, func() { _ = srv.Close() })
}

func serve(t *testing.T, run func(net.Listener) error, stop func()) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	done.Go(func() { _ = run(listener) })
	t.Cleanup(func() {
		stop()
		done.Wait()
	})
	return listener.Addr().String()
}

// newGate makes a gate of one place, which is taken until it has refused the given number of calls, or for ever if that
// is negative. It does not wait and asks clients to come back after the delay.
func newGate(t *testing.T, delay time.Duration, refusals int, opts ...gate.Option) *gate.Gate {
	t.Helper()
	var left atomic.Int64
	left.Store(int64(refusals))
	var taken gate.Lease
	opts = append(opts, gate.WithMaxWait(0), gate.WithRetryDelay(delay, delay),
		gate.WithOnEvent(func(_ context.Context, e gate.Event) {
			if e.Rejection != nil && left.Add(-1) == 0 {
				taken.Release()
			}
		}))
	g, err := gate.New("db", 1, opts...)
	if err != nil {
		t.Fatal(err)
	}
	if taken, err = g.TryAcquire(gate.Call{Route: "filler"}); err != nil {
		t.Fatal(err)
	}
	return g
}

// checkAttempts checks how often the gate was asked, the filler apart.
func checkAttempts(t *testing.T, g *gate.Gate, refused, admitted uint64) {
	t.Helper()
	totals := g.Snapshot().Totals
	if got := totals.RejectedBusy; got != refused {
		t.Errorf("%d attempts were refused, want %d", got, refused)
	}
	if got := totals.Accepted - 1; got != admitted {
		t.Errorf("%d attempts were admitted, want %d", got, admitted)
	}
}
