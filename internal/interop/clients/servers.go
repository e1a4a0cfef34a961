package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
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

// server is a kind of server with a gate.
type server struct {
	name string
	// serve serves until stop is called.
	serve func(l net.Listener, a gate.Admitter) (stop func())
	// bare does so without httpgate.ConfigureServer. It is nil for servers that are not of net/http.
	bare func(l net.Listener, a gate.Admitter) (stop func())
}

// without are the servers without httpgate.ConfigureServer.
func without(servers []server) []server {
	bare := slices.Clone(servers)
	for i, s := range servers {
		bare[i] = server{name: s.name, serve: s.bare}
	}
	return bare
}

// bareRow says of a row that it may fail.
const bareRow = "This is what ConfigureServer is for"

// The servers.
func grpcGo() server {
	return server{name: "grpc-go", serve: func(l net.Listener, a gate.Admitter) func() {
		return serveGRPC(l, grpc.NewServer(grpcgate.ServerOptions(a)...))
	}}
}

func beforeDecode() server {
	return server{name: "grpc-go before decode", serve: func(l net.Listener, a gate.Admitter) func() {
		srv := grpc.NewServer()
		grpchost.Register(grpcgate.BeforeDecode(srv, a), conformance.Echo)
		return start(l, srv.Serve, srv.Stop)
	}}
}

func tap() server {
	return server{name: "grpc-go tap", serve: func(l net.Listener, a gate.Admitter) func() {
		return serveGRPC(l, grpc.NewServer(append(grpcgate.ServerOptions(a), grpc.InTapHandle(grpcgate.TapHandle(a)))...))
	}}
}

func connectV1() server {
	return overHTTP("Connect v1", func(a gate.Admitter) http.Handler {
		return connecthost.HandlerV1(conformance.Echo, connectgate.NewInterceptor(a))
	})
}

func connectV2() server {
	return overHTTP("Connect v2", func(a gate.Admitter) http.Handler {
		return connecthost.HandlerV2(conformance.Echo, connectgate.NewServerInterceptor(a))
	})
}

func middleware() server {
	return overHTTP("Connect middleware", func(a gate.Admitter) http.Handler {
		return connectgate.NewMiddleware(a)(connecthost.HandlerV1(conformance.Echo, connectgate.NewInterceptor(a)))
	})
}

func plain() server {
	return overHTTP("httpgate", func(a gate.Admitter) http.Handler {
		return httpgate.NewMiddleware(a)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusNoContent)
		}))
	})
}

func grpcServers() []server {
	return []server{grpcGo(), beforeDecode(), connectV1(), connectV2(), middleware()}
}

func httpServers() []server { return []server{connectV1(), connectV2(), middleware(), plain()} }

func serveGRPC(l net.Listener, srv *grpc.Server) func() {
	grpchost.Register(srv, conformance.Echo)
	return start(l, srv.Serve, srv.Stop)
}

// overHTTP serves HTTP/1.1 and HTTP/2 with prior knowledge.
func overHTTP(name string, handler func(gate.Admitter) http.Handler) server {
	serve := func(configure func(*http.Server)) func(net.Listener, gate.Admitter) func() {
		return func(l net.Listener, a gate.Admitter) func() {
			var protocols http.Protocols
			protocols.SetHTTP1(true)
			protocols.SetUnencryptedHTTP2(true)
			srv := &http.Server{Handler: connectgate.TrailersOnly(handler(a)), Protocols: &protocols, ReadHeaderTimeout: time.Minute}
			configure(srv)
			return start(l, srv.Serve, func() { _ = srv.Close() })
		}
	}
	return server{
		name:  name,
		serve: serve(func(srv *http.Server) { httpgate.ConfigureServer(srv) }),
		bare:  serve(func(*http.Server) {}),
	}
}

func start(l net.Listener, serve func(net.Listener) error, stop func()) func() {
	var done sync.WaitGroup
	done.Go(func() { _ = serve(l) })
	return func() {
		stop()
		done.Wait()
	}
}

// busy is a server whose gate has one unit, which is taken until so many attempts were refused or release is called.
type busy struct {
	addr    string
	release func()
	stop    func()

	mu       sync.Mutex
	attempts []time.Time // the refused ones, then that which was admitted
}

// forever is a number of refusals.
const forever = -1

// busy starts the server of a meeting, and its proxy.
func (m meeting) busy(ctx context.Context, delay time.Duration, refusals int) (*busy, error) {
	b, err := m.server.busy(delay, refusals)
	if err != nil || m.proxy.argv == nil {
		return b, err
	}
	addr, stopProxy, err := m.proxy.start(ctx, m.dir, b.addr)
	if err != nil {
		b.stop()
		return nil, err
	}
	stopServer := b.stop
	b.addr, b.stop = addr, func() {
		stopProxy()
		stopServer()
	}
	return b, nil
}

func (s server) busy(delay time.Duration, refusals int) (*busy, error) {
	b := &busy{}
	var taken gate.Lease
	g, err := gate.New("db", 1, gate.WithMaxWait(0), gate.WithRetryDelay(delay, delay),
		gate.WithOnEvent(func(_ context.Context, e gate.Event) {
			if e.Kind != gate.EventDecision || e.Call.Route == "filler" {
				return
			}
			b.mu.Lock()
			defer b.mu.Unlock()
			b.attempts = append(b.attempts, time.Now())
			if e.Rejection != nil && len(b.attempts) == refusals {
				taken.Release()
			}
		}))
	if err != nil {
		return nil, err
	}
	if taken, err = g.TryAcquire(gate.Call{Route: "filler"}); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b.addr, b.release, b.stop = l.Addr().String(), taken.Release, s.serve(l, g)
	return b, nil
}

// gaps checks that so many attempts were made, at least the delay apart, and says so.
func (b *busy) gaps(want int, delay time.Duration) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.attempts) != want {
		return "", fmt.Errorf("%d attempts, want %d", len(b.attempts), want)
	}
	var errs []error
	for i := 1; i < want; i++ {
		gap := b.attempts[i].Sub(b.attempts[i-1])
		if gap < delay-20*time.Millisecond || gap > delay+3*time.Second {
			errs = append(errs, fmt.Errorf("an attempt after %s, want %s", gap.Round(time.Millisecond), delay))
		}
	}
	return fmt.Sprintf("%d attempts", want), errors.Join(errs...)
}
