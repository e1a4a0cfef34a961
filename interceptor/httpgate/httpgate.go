// Package httpgate puts a gate in front of plain net/http handlers:
//
//	gated := httpgate.NewMiddleware(db)
//	mux.Handle("GET /orders/{id}", gated(showOrder))
//
// A refused client gets 429 or 503, a Retry-After header and a short body:
//
//	{"error":"server_busy","requestId":"…"}
//
// [Shutdown] stops a server so that no call is lost.
//
// # Probes
//
// A server must not be restarted for being busy. So GET and HEAD requests of "/health",
// "/healthz", "/livez" and "/readyz" pass ([gate.HTTPProbes]), unless a rule of a
// [gate.Policy] has the same pattern.
//
// # Browsers
//
// Put the middleware of CORS around this one. Inside of it, refusals have no
// Access-Control-Allow-Origin: the browser hides them, and fetch fails. Let CORS expose
// Retry-After, or scripts cannot read it. Preflights pass in either order, because the
// browser sends nothing else before it has an answer: these are OPTIONS requests with the
// headers Origin and Access-Control-Request-Method. Other OPTIONS requests are gated.
//
// For RPCs use the packages connectgate and grpcgate, which know their protocols.
package httpgate

import (
	"context"
	"net/http"
	"strings"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor"
	"github.com/rpcgate/rpcgate/interceptor/internal/exchange"
	"github.com/rpcgate/rpcgate/interceptor/internal/host"
	"github.com/rpcgate/rpcgate/interceptor/internal/mistake"
	"github.com/rpcgate/rpcgate/interceptor/internal/opening"
	"github.com/rpcgate/rpcgate/interceptor/internal/pace"
	"github.com/rpcgate/rpcgate/interceptor/internal/plain"
	"github.com/rpcgate/rpcgate/interceptor/internal/refusal"
)

// Option configures the middleware; see package interceptor.
type Option = interceptor.Option

const pkg = "httpgate"

// NewMiddleware returns middleware that puts a in front of a handler. A request is
// gated before its body is read. It holds its lease until the handler has returned,
// or has panicked, with [http.ErrAbortHandler] or anything else.
//
// The route, which a [gate.Policy] decides by, is the path of the pattern that an
// http.ServeMux has matched, without method and host: "/orders/{id}". Only the
// handlers inside the mux know it, so put the middleware around each of them. If it
// is around the mux, the route is the path of the request. Telemetry then counts it
// as "_OTHER", since clients can choose any path.
//
// Some handlers go on for a long time after their expensive part, for instance to
// send events or to serve a websocket. They need not hold the lease for as long. A
// handler can release the lease that it finds with [gate.LeaseFromContext]. Or its
// route has the [gate.StreamMode] HoldOpening: then the lease is released when the
// first bytes of the body were written, or could not be written, or the connection was
// hijacked. Or the route has a gate of its own, which bounds how many of them are open,
// or is exempt. HoldMessage means HoldStream here. When the handler has returned, a
// connection that is still in use holds no lease.
//
// Probes and preflights pass; see above. HEAD gets the answer of GET without the body.
// Caches must not store refusals. While a gate drains, a refusal over HTTP/1.1 also closes
// the connection, so that the client goes elsewhere. Over HTTP/2 the connection has other
// calls, too, and only [Shutdown] and a [Stopper] end it.
//
// If a caller leaves while its request waits, access logs show the status 499, or 504
// if a deadline of the request's context has passed. Over HTTP/1.1, net/http notices that
// only when the body has been read. So while a request waits, its body is read if it has
// a Content-Length of at most 64 KiB. A request with a body that is larger, chunked,
// announced by "Expect: 100-continue" or not all there keeps its turn until it is admitted
// or rejected.
//
// A client that sends the body too slowly is cut off; see interceptor.WithMinRate. A Read
// of the body fails with an error that matches [os.ErrDeadlineExceeded]. If the handler has
// written nothing before, the client gets status 408, whatever the handler writes.
//
// The deadline of the request's context bounds the wait. net/http does not set one by
// itself. Options that look at the request get the *http.Request with its body
// unread. The size of a request is its Content-Length. It is
// 0 without a body, and [gate.SizeUnknown] for a chunked upload.
//
// The middleware is safe for concurrent use. It panics if a or the handler is nil or
// an option has a bad value.
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
	if m.exempts(r) || m.host.Passes(ctx, route) {
		next.ServeHTTP(w, r)
		return
	}
	body := pace.New(w, r, m.rate(r))
	defer body.End()
	call := m.call(ctx, r, route, known)
	body.Listen(&call)
	lease, err := m.host.Acquire(ctx, &call)
	if err != nil {
		m.answer(w, body.Refused(r), err)
		return
	}
	// Deferred, so that the lease is also released if the handler panics.
	defer lease.Release()
	served, response := pace.Response(w, r, lease, m.host.MinRate)
	defer response.End()
	var cut *cutWriter
	if body != nil {
		cut = &cutWriter{Writer: plain.Writer{ResponseWriter: served}, request: r, body: body}
		served = cut
	}
	if m.host.StreamMode(route) == gate.HoldOpening {
		served = opening.Writer(served, lease)
	}
	handled := r.WithContext(m.host.Context(ctx, lease, &call))
	body.Admit(lease, handled)
	next.ServeHTTP(served, handled)
	exchange.KeepForm(r, handled)
	if body.Slow() {
		cut.finish()
		m.host.AnnotateCutOff(ctx, gate.ReasonSlowRequest)
	}
	if response.Slow() {
		m.host.AnnotateCutOff(ctx, gate.ReasonSlowResponse)
	}
}

// rate returns how fast a client must send a request. A stream of RPCs may be idle, and so
// may a tunnel, such as a websocket over HTTP/2.
func (m *middleware) rate(r *http.Request) pace.Rate {
	if r.Method == http.MethodConnect {
		return pace.Rate{}
	}
	for _, contentType := range r.Header["Content-Type"] {
		if strings.HasPrefix(contentType, "application/grpc") || strings.HasPrefix(contentType, "application/connect+") {
			return pace.Rate{}
		}
	}
	return m.host.MinRate
}

// exempts reports whether a request passes whatever its route: it is a probe or a
// preflight.
func (m *middleware) exempts(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		return m.host.ExemptsProbe(r.URL.Path)
	case http.MethodOptions:
		return len(r.Header["Origin"]) > 0 && len(r.Header["Access-Control-Request-Method"]) > 0
	}
	return false
}

// route returns the route of a request, and whether a mux knows it.
func route(r *http.Request) (route string, known bool) {
	if r.Pattern == "" {
		whole := max(len(r.RequestURI), len(r.URL.Path)+len(r.URL.RawQuery))
		return host.Own(r.URL.Path, whole), false
	}
	if slash := strings.IndexByte(r.Pattern, '/'); slash >= 0 {
		return r.Pattern[slash:], true
	}
	return r.Pattern, true
}

// call returns what the gate is told about a request whose body has not been read.
func (m *middleware) call(ctx context.Context, r *http.Request, route string, known bool) gate.Call {
	call := gate.Call{
		Route:        route,
		RemoteIP:     m.host.RemoteIP(r.RemoteAddr, r.Header),
		Size:         r.ContentLength,
		UnknownRoute: !known,
	}
	if id := r.Header[refusal.RequestIDHeader]; len(id) > 0 {
		call.RequestID = host.RequestID(id[0])
	}
	m.host.Describe(ctx, &call, r.Header, r)
	return call
}
