package connectgate

import (
	"context"
	"net/http"
	"time"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/internal/host"
	"github.com/rpcgate/rpcgate/interceptor/internal/opening"
)

// NewMiddleware returns net/http middleware that puts a in front of the calls that
// Connect handlers serve, of either version: of the Connect, gRPC and gRPC-Web
// protocols.
//
//	mux.Handle(path, connectgate.NewMiddleware(db)(handler))
//
// A call is gated before its body is read, so that one that waits holds no
// memory but its headers, and its refusal costs little more than these; over HTTP/2
// a body of up to 16 KiB is still taken in and thrown away. It holds its place until
// the handler has returned, which is after it has written the response. The wait is
// bounded by the deadline that the client has sent, as in an interceptor. Refusals
// are framed for the protocol of the call; those of gRPC are sent in a form that
// clients retry, without [TrailersOnly].
//
// Calls are told from other requests by what can be seen of them: a POST with a
// content type of one of the protocols ("application/json" and
// "application/proto" are Connect's for unary calls; other types below
// "application/" are if there is a Connect-Protocol-Version header, or if the path
// is that of a method that the program knows from a .proto file), or a GET with the parameters "encoding" and
// "message"; and a path whose last two parts are a service and a method, which
// make the route. All other requests pass. A POST of JSON to something else looks
// like a call, so put the middleware around RPC handlers, not around a whole
// site. Behind Vanguard, which turns REST into RPCs, put it around the service,
// not around Vanguard.
//
// Streams hold their place as [gate.StreamMode] says, with two differences: with
// HoldOpening any gRPC call gives it back when the first bytes of the response
// were written, as unary calls look like streams there; and with HoldMessage
// streams and gRPC calls pass, since only an interceptor sees messages: use one
// of the same Admitter.
//
// An interceptor further in that has the same Admitter does not gate a call
// again, so both may be installed; it is needed to tell clients of a
// *[gate.Rejection] that a handler returns. What runs further in has no part in
// calls that are refused here: authentication and logging by interceptors, or the
// spans of otelconnect. Options that look at the request message get nil.
//
// The middleware is safe for concurrent use. A nil a or an option with a bad
// value is a mistake of the program and panics.
func NewMiddleware(a gate.Admitter, opts ...Option) func(http.Handler) http.Handler {
	m := &middleware{host: host.Must(pkg, a, opts)}
	return func(next http.Handler) http.Handler {
		checkHandler("NewMiddleware", next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { m.serve(w, r, next) })
	}
}

type middleware struct {
	host  *host.Host
	known knownRoutes
}

func (m *middleware) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	as := wireOf(r)
	route, ok := procedure(r.URL.Path)
	if as == wireMaybeUnary && m.known.has(route) {
		as = wireConnectUnary
	}
	if as == wireNone || as == wireMaybeUnary || !ok || m.host.Passes(r.Context(), route) {
		next.ServeHTTP(w, r)
		return
	}
	mode := gate.HoldStream
	if as != wireConnectUnary {
		mode = m.host.StreamMode(route)
	}
	if mode == gate.HoldMessage {
		next.ServeHTTP(w, r)
		return
	}
	waiting := newDeadline(r.Context(), as, r.Header)
	call := m.call(waiting, r, route)
	lease, err := m.host.Acquire(waiting, &call)
	if err != nil {
		m.refuse(w, r, as, waiting, err)
		return
	}
	// Deferred, so that a panic of the handler gives the lease back, too.
	defer lease.Release()
	ctx := r.Context()
	if deadline, ok := waiting.Deadline(); ok && lease.Waited() > 0 {
		// Connect takes the client's timeout to begin when the handler does.
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline)
		defer cancel()
	}
	if mode == gate.HoldOpening {
		w = opening.Writer(w, lease)
	}
	next.ServeHTTP(w, r.WithContext(m.host.Context(ctx, lease)))
}

// call is what the gate is told about a request that was not read yet.
func (m *middleware) call(ctx context.Context, r *http.Request, route string) gate.Call {
	call := gate.Call{
		Route:        route,
		RequestID:    requestID(r.Header),
		RemoteIP:     m.host.RemoteIP(r.RemoteAddr, r.Header),
		Size:         max(r.ContentLength, 0),
		UnknownRoute: !m.known.has(route),
	}
	m.host.Describe(ctx, &call, r.Header, nil)
	return call
}

// refuse answers a request that was not admitted. If the answer cannot be
// written the client has gone, and nobody is left to be told.
func (m *middleware) refuse(w http.ResponseWriter, r *http.Request, as wire, waiting context.Context, err error) {
	if refused, ok := m.host.Refusal(waiting, err); ok {
		_ = writeRefusal(w, r, as, refused)
	} else {
		_ = writeFailure(w, r, as, err)
	}
	drain(w, r)
}

// deadlineContext has the deadline that the client has sent. It does not end
// then: a gate does not wait that long, so that no timer is needed, and it must
// not be the context of a handler.
type deadlineContext struct {
	context.Context
	deadline time.Time
}

func newDeadline(ctx context.Context, as wire, h http.Header) context.Context {
	d, ok := timeout(as, h)
	if !ok {
		return ctx
	}
	deadline := time.Now().Add(d)
	if sooner, ok := ctx.Deadline(); ok && sooner.Before(deadline) {
		return ctx
	}
	return &deadlineContext{ctx, deadline}
}

func (c *deadlineContext) Deadline() (time.Time, bool) { return c.deadline, true }
