// Package httpgate puts a gate in front of plain net/http handlers:
//
//	gated := httpgate.NewMiddleware(db)
//	mux.Handle("GET /orders/{id}", gated(showOrder))
//
// A refused client gets 429 or 503, a Retry-After header and a short body:
//
//	{"error":"server_busy","requestId":"…"}
//
// RPCs have packages of their own, connectgate and grpcgate, which speak their
// protocols.
package httpgate

import (
	"context"
	"net/http"
	"strings"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor"
	"github.com/rpcgate/rpcgate/interceptor/internal/host"
	"github.com/rpcgate/rpcgate/interceptor/internal/mistake"
	"github.com/rpcgate/rpcgate/interceptor/internal/opening"
	"github.com/rpcgate/rpcgate/interceptor/internal/refusal"
)

// Option configures the middleware; see package interceptor.
type Option = interceptor.Option

const pkg = "httpgate"

// NewMiddleware returns middleware that puts a in front of a handler. A request
// is gated before its body is read, and holds its place until the handler has
// returned, also when it panics, be it with [http.ErrAbortHandler].
//
// The route, which a [gate.Policy] decides by, is the path of the pattern that an
// http.ServeMux has matched, without method and host: "/orders/{id}". Only a
// handler that is registered with the mux knows it, so put the middleware around
// each of these. Around the mux the route is the path of the request, and
// telemetry counts it as "_OTHER", since clients choose paths freely.
//
// A handler that goes on for long after its expensive part, such as one that
// sends events or takes over a websocket, need not hold its place for as long: it
// can give it back with [gate.LeaseFromContext], or its route can have the
// [gate.StreamMode] HoldOpening, which does so when the first bytes of the body
// were written or the connection was hijacked, or be exempt. HoldMessage is
// HoldStream here. A connection that is still in use after its handler has
// returned holds nothing.
//
// Requests of method OPTIONS pass: a browser that asks whether it may send a
// request is to be told that, and not the state of the server. The answer to HEAD
// is that to GET without the body. Refusals are not to be stored by caches.
//
// A caller that has gone while it waited gets no answer; access logs see 499, or
// 504 if a deadline of the request's context has passed. Over HTTP/1.1 the server
// does not notice that as long as the body is not read.
//
// The wait is bounded by the deadline of the request's context, which net/http
// does not set by itself. Options that look at the request get the *http.Request,
// with its body unread; the size of a request is its Content-Length.
//
// The middleware is safe for concurrent use. A nil a or an option with a bad
// value is a mistake of the program and panics.
func NewMiddleware(a gate.Admitter, opts ...Option) func(http.Handler) http.Handler {
	m := &middleware{host: host.Must(pkg, a, opts)}
	return func(next http.Handler) http.Handler {
		if next == nil {
			mistake.Panic(pkg, mistake.Nil("NewMiddleware", "a handler"))
		}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { m.serve(w, r, next) })
	}
}

type middleware struct{ host *host.Host }

func (m *middleware) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	ctx := r.Context()
	route, known := route(r)
	if r.Method == http.MethodOptions || m.host.Passes(ctx, route) {
		next.ServeHTTP(w, r)
		return
	}
	call := m.call(ctx, r, route, known)
	lease, err := m.host.Acquire(ctx, &call)
	if err != nil {
		m.answer(w, r, err)
		return
	}
	// Deferred, so that a panic of the handler gives the lease back, too.
	defer lease.Release()
	if m.host.StreamMode(route) == gate.HoldOpening {
		w = opening.Writer(w, lease)
	}
	next.ServeHTTP(w, r.WithContext(m.host.Context(ctx, lease)))
}

// route is that of a request, and whether a mux knows it.
func route(r *http.Request) (route string, known bool) {
	if r.Pattern == "" {
		return r.URL.Path, false
	}
	if slash := strings.IndexByte(r.Pattern, '/'); slash >= 0 {
		return r.Pattern[slash:], true
	}
	return r.Pattern, true
}

// call is what the gate is told about a request that was not read yet.
func (m *middleware) call(ctx context.Context, r *http.Request, route string, known bool) gate.Call {
	call := gate.Call{
		Route:        route,
		RemoteIP:     m.host.RemoteIP(r.RemoteAddr, r.Header),
		Size:         max(r.ContentLength, 0),
		UnknownRoute: !known,
	}
	if id := r.Header[refusal.RequestIDHeader]; len(id) > 0 {
		call.RequestID = host.RequestID(id[0])
	}
	m.host.Describe(ctx, &call, r.Header, r)
	return call
}
