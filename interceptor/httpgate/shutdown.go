package httpgate

import (
	"context"
	"io"
	"net/http"
	"sync/atomic"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor"
	"github.com/rpcgate/rpcgate/interceptor/internal/mistake"
	"github.com/rpcgate/rpcgate/interceptor/internal/refusal"
	"github.com/rpcgate/rpcgate/interceptor/internal/shutdown"
)

// Shutdown stops a server in order, of plain handlers or of Connect's, and drains its
// gates:
//
//   - It calls the server's own Shutdown: no connection is accepted any more, idle ones
//     are closed, and clients of HTTP/2 get GOAWAY.
//   - It drains the gates 100 ms later, so that calls that the server has just read are
//     served. Calls that wait at a gate are still served, too. A call that comes later,
//     through another server with the same gates, is sent elsewhere; see
//     [gate.Gate.Drain]. Handlers of long streams learn of it by [gate.Lease.Draining].
//   - When ctx ends, it calls Close, which cuts off all calls that are left.
//
// It returns nil when the server is stopped and all gates are empty. Otherwise the
// error names the gates that are still in use, with the units in flight, and is ctx's.
// It also waits for calls that no gate counts, such as those of exempt routes.
//
// net/http does not serve a request that it reads after its Shutdown was called. Over
// HTTP/2 clients know that, and send it again if they still have its body. Over HTTP/1.1
// they cannot know: they only see the end of the connection. A [Stopper] with a grace
// moves them to other connections before.
//
// Serve returns as soon as Shutdown is called, so the program must wait for Shutdown to
// return. For servers that share their gates, call it at the same time. Shutdown panics
// if srv is nil.
func Shutdown(ctx context.Context, srv *http.Server, gates ...*gate.Gate) error {
	return newStopper("Shutdown", srv, nil).Shutdown(ctx, gates...)
}

// Stopper stops a server, like [Shutdown], after it has told balancers and moved
// clients to other connections. It is safe for concurrent use.
type Stopper struct {
	srv      *http.Server
	config   shutdown.Config
	notReady atomic.Bool
	moving   atomic.Bool
}

// NewStopper returns a Stopper. It wraps the server's Handler, so it must be called
// before the server serves:
//
//	srv := &http.Server{Handler: mux}
//	stopper := httpgate.NewStopper(srv, interceptor.WithGrace(5*time.Second))
//	mux.Handle("/readyz", stopper.Ready())
//
// It panics if srv or an option is nil, or if an option has a bad value.
func NewStopper(srv *http.Server, opts ...interceptor.ShutdownOption) *Stopper {
	s := newStopper("NewStopper", srv, opts)
	s.config.NotReady = append(s.config.NotReady, func() { s.notReady.Store(true) })
	next := srv.Handler
	if next == nil {
		next = http.DefaultServeMux
	}
	srv.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.moving.Load() && r.Header["Upgrade"] == nil {
			refusal.CloseConnection(w.Header())
		}
		next.ServeHTTP(w, r)
	})
	return s
}

func newStopper(function string, srv *http.Server, opts []interceptor.ShutdownOption) *Stopper {
	s := &Stopper{srv: srv}
	err := mistake.InOptions(opts, func(o interceptor.ShutdownOption) error { return o.Apply(&s.config) })
	if srv == nil {
		mistake.Panic(pkg, mistake.Nil(function, "a server"), err)
	}
	mistake.Panic(pkg, err)
	return s
}

// Ready returns a handler for readiness checks. It answers 200, and 503 as soon as
// Shutdown is called. Mount it outside of any gate: a busy server is ready.
func (s *Stopper) Ready() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if s.notReady.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, `{"status":"shutting_down"}`+"\n")
			return
		}
		_, _ = io.WriteString(w, `{"status":"ready"}`+"\n")
	})
}

// Shutdown makes the server not ready and waits for the time of
// [interceptor.WithGrace], in which calls are served as before. In the second half of
// it, responses over HTTP/1.1 have Connection: close, and connections of HTTP/2 get
// GOAWAY with the next response. Then it does what the function [Shutdown] does. ctx
// covers all of it. Another call does not wait for the grace again.
func (s *Stopper) Shutdown(ctx context.Context, gates ...*gate.Gate) error {
	return s.config.Run(ctx, shutdown.Server{
		Name:  pkg + ": Shutdown",
		Move:  func() { s.moving.Store(true) },
		Stop:  s.srv.Shutdown,
		Abort: func() { _ = s.srv.Close() },
	}, gates)
}
