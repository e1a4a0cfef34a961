package connectgate

import (
	"context"
	"net/http"
	"time"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/internal/exchange"
	"github.com/rpcgate/rpcgate/interceptor/internal/host"
	"github.com/rpcgate/rpcgate/interceptor/internal/opening"
	"github.com/rpcgate/rpcgate/interceptor/internal/pace"
	"github.com/rpcgate/rpcgate/interceptor/internal/refusal"
)

// NewMiddleware returns net/http middleware that puts a in front of the calls that
// Connect handlers of either version serve, in the Connect, gRPC and gRPC-Web
// protocols.
//
//	mux.Handle(path, connectgate.NewMiddleware(db)(handler))
//
// A call is gated before its body is read, and a refusal costs little more than reading
// its headers. What the client is still sending is read and discarded for a moment, so
// that its connection can go on; see httpgate.ConfigureServer.
//
// While a call waits, its body is read if it has a Content-Length of at most 64 KiB. So
// net/http notices when the caller leaves. It does not over HTTP/1.1 if the body is
// larger, chunked, announced by "Expect: 100-continue" or not all there: then the call
// keeps its turn until it is admitted or rejected.
//
// A call holds its lease until the handler has returned, which is after it has written
// the response. A unary call whose client sends its request too slowly is cut off, with
// code DeadlineExceeded, and so is any call whose client does not read; see
// interceptor.WithMinRate. Of gRPC and gRPC-Web calls those are unary that the program
// knows as unary from a .proto file.
//
// The client's deadline bounds the wait, as in an interceptor. Refusals are framed for
// the protocol of the call. gRPC clients retry them even without [TrailersOnly].
//
// These requests are calls, if the last two parts of their path, which make the
// route, can be a service and a method:
//
//   - a POST whose content type is one of the protocols', "application/json" and
//     "application/proto" included;
//   - a POST with another content type that begins with "application/", if it has a
//     Connect-Protocol-Version header or if the program knows the method from a
//     .proto file;
//   - a GET with the parameters "encoding" and "message".
//
// All other requests pass. A POST of JSON to something else looks like a call, so put
// the middleware around RPC handlers, not around a whole site. With Vanguard, which
// turns REST into RPCs, put it around the service, not around Vanguard.
//
// Streams hold their leases as [gate.StreamMode] says, with two differences. With
// HoldOpening every gRPC call, even a unary one, releases its lease when the first
// bytes of the response were written, because unary calls look like streams there.
// With HoldMessage streams and gRPC calls pass, because only an interceptor sees
// messages: install one with the same a.
//
// An interceptor further in with the same a does not gate a call again, so both may
// be installed. Without it, clients are not refused properly if a handler returns a
// *[gate.Rejection]. Interceptors do not see the calls that are refused here, so
// there is no authentication, log or span of otelconnect for them. Options that look
// at the request message get nil.
//
// The middleware is safe for concurrent use. It panics if a or the handler is nil or
// an option has a bad value.
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
	body := pace.New(w, r, m.rate(as, route))
	defer body.End()
	waiting := newDeadline(r.Context(), as, r.Header)
	call := m.call(waiting, r, route)
	body.Listen(&call)
	lease, err := m.host.Acquire(waiting, &call)
	if err != nil {
		m.refuse(w, body.Refused(r), as, waiting, err)
		return
	}
	// Deferred, so that the lease is also released if the handler panics.
	defer lease.Release()
	ctx := r.Context()
	if deadline, ok := waiting.Deadline(); ok && lease.Waited() > 0 {
		// For Connect, the client's timeout begins when the handler does.
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline)
		defer cancel()
	}
	w, response := pace.Response(w, r, lease, m.host.MinRate)
	defer response.End()
	if mode == gate.HoldOpening {
		w = opening.Writer(w, lease)
	}
	handled := r.WithContext(m.host.Context(ctx, lease, &call))
	body.Admit(lease, handled)
	next.ServeHTTP(w, handled)
	if body.Slow() {
		m.host.AnnotateCutOff(r.Context(), gate.ReasonSlowRequest)
	}
	if response.Slow() {
		m.host.AnnotateCutOff(r.Context(), gate.ReasonSlowResponse)
	}
}

// rate returns how fast a client must send the request of a call. A stream may be idle.
func (m *middleware) rate(as wire, route string) pace.Rate {
	if as == wireConnectUnary || m.known.isUnary(route) {
		return m.host.MinRate
	}
	return pace.Rate{}
}

// call returns what the gate is told about a request whose body has not been read.
func (m *middleware) call(ctx context.Context, r *http.Request, route string) gate.Call {
	method, known := m.known.find(route)
	if !known {
		method.route = host.Own(route, len(r.RequestURI))
	}
	call := gate.Call{
		Route:        method.route,
		RequestID:    requestID(r.Header),
		RemoteIP:     m.host.RemoteIP(r.RemoteAddr, r.Header),
		Size:         r.ContentLength,
		UnknownRoute: !known,
	}
	m.host.Describe(ctx, &call, r.Header, nil)
	return call
}

// refuse answers a request that was not admitted. If it cannot write the answer, the
// client has gone.
func (m *middleware) refuse(w http.ResponseWriter, r *http.Request, as wire, waiting context.Context, err error) {
	x, r, end := exchange.Of(w, r)
	defer end()
	x.Refuse(w.Header())
	if refused, ok := m.host.Refusal(waiting, err); ok {
		if as == wireGRPC {
			refused = refused.ForAttempt(first(r.Header, refusal.AttemptsHeader))
		}
		_ = writeRefusal(w, r, as, refused)
	} else {
		_ = writeFailure(w, r, as, err)
	}
}

// deadlineContext has the client's deadline, but does not end when that has passed.
// So it needs no timer. It is for a gate, which never waits that long, and must not
// be the context of a handler.
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
