// Package exchange knows of an HTTP request what its handler does not see: the writer of
// its response, how much of its body has been read, and its connection. So a host that
// refuses a call can see to it that the rest of the connection does not suffer, also a
// host that has no http.ResponseWriter.
//
// A host that has one calls [Of]. Other hosts find the exchange by [From], if the server
// was configured: see httpgate.ConfigureServer, which calls [Begin] for each request.
package exchange

import (
	"context"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Exchange is a request and its response. It is the context of the request, too.
//
// net/http's writer must not be used when the handler has returned, and would crash.
// Other goroutines of the handler may still read the body then. So all that they use of
// the writer goes through the Exchange, which knows when it is over.
type Exchange struct {
	context.Context // of the request
	w               http.ResponseWriter
	r               *http.Request // as the server got it
	inner           *http.Request // as the handler gets it
	conn            *Connection   // nil if the server was not configured
	body            body
	attached        any

	mu      sync.Mutex
	over    bool        // the handler has returned
	refused bool        // the call was refused: its body is of no use
	drains  func() bool // whether the body is of no use without a refusal, or nil
	unread  bool        // close the body without draining it then
	drained bool
	atOnce  bool // see answerAtOnce
	// answered says that the headers of an answer were written. It is only known if
	// BeforeHeader is called, by what is attached.
	answered bool
	atEnd    []func() // see ReadThrough
	ended    bool     // atEnd was called
}

type exchangeKey struct{}

// Value returns the exchange itself to [From].
func (x *Exchange) Value(key any) any {
	if key == (exchangeKey{}) {
		return x
	}
	return x.Context.Value(key)
}

// Begin returns the exchange of a request, and the request for its handler: its context
// and its body are the exchange's. The handler must be followed by [Exchange.End], even
// if it panics.
func Begin(w http.ResponseWriter, r *http.Request) (*Exchange, *http.Request) {
	x := &Exchange{Context: r.Context(), w: w, r: r}
	x.conn, _ = x.Context.Value(connectionKey{}).(*Connection)
	// A copy, since net/http looks at its own body later.
	x.inner = r.WithContext(x)
	if r.Body != nil && r.Body != http.NoBody {
		x.body.start(x, r.Body)
		x.inner.Body = &x.body
	}
	return x, x.inner
}

// From returns the exchange that ctx belongs to, or nil.
func From(ctx context.Context) *Exchange {
	x, _ := ctx.Value(exchangeKey{}).(*Exchange)
	return x
}

// Of returns the exchange of a handler's request. If there is none, it begins one: then
// the handler must use the request that Of returns, and end is the exchange's End.
// Otherwise end does nothing.
func Of(w http.ResponseWriter, r *http.Request) (x *Exchange, inner *http.Request, end func()) {
	// Behind a transcoder, the exchange of the context is that of another request.
	if x := From(r.Context()); x != nil && x.reads(r) {
		return x, r, func() {}
	}
	x, inner = Begin(w, r)
	return x, inner, x.End
}

// reads reports whether the request's body is the exchange's.
func (x *Exchange) reads(r *http.Request) bool {
	if r.Body == nil || r.Body == http.NoBody {
		return x.body.inner == nil
	}
	return r.Body == &x.body
}

// OverHTTP2 reports whether the request came over HTTP/2, where others share its
// connection. It is false for no exchange.
func (x *Exchange) OverHTTP2() bool { return x != nil && x.r.ProtoMajor >= 2 }

// Attach keeps what ConfigureServer has put around the response for the hosts.
func (x *Exchange) Attach(v any) { x.attached = v }

// Attached returns what was attached. With a request it returns nil if the request is not
// that of the exchange, but of a transcoder.
func (x *Exchange) Attached(r *http.Request) any {
	if r != nil && !x.reads(r) {
		return nil
	}
	return x.attached
}

// SetReadDeadline sets the time at which reads of the body fail. It may be called on any
// goroutine. It fails if the writer has no deadlines, or when the handler has returned.
func (x *Exchange) SetReadDeadline(t time.Time) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.over {
		return http.ErrNotSupported
	}
	return http.NewResponseController(x.w).SetReadDeadline(t)
}

// DrainIf has the body drained when the handler closes it, also without a refusal, if f
// then returns true. f may be called on any goroutine.
func (x *Exchange) DrainIf(f func() bool) {
	x.mu.Lock()
	x.drains = f
	x.mu.Unlock()
}

// CloseUnreadIf is [Exchange.DrainIf] for a handler behind a transcoder: the body is
// closed, and not drained.
func (x *Exchange) CloseUnreadIf(f func() bool) {
	x.mu.Lock()
	x.drains, x.unread = f, true
	x.mu.Unlock()
}

// Server returns the writer and the request as the server got them. The body of the
// request belongs to the exchange.
func (x *Exchange) Server() (w http.ResponseWriter, r *http.Request) { return x.w, x.r }

// ReadThrough has the body read through what f returns, which reads the given one, and
// calls end when the handler has returned and the rest of the body was drained. It reports
// false, and does nothing, if the body is being read. It must be called on the goroutine
// of the handler.
func (x *Exchange) ReadThrough(f func(body io.ReadCloser) io.ReadCloser, end func()) bool {
	if x.body.inner == nil {
		return false
	}
	select {
	case x.body.reading <- struct{}{}:
	default:
		return false
	}
	x.body.inner = f(x.body.inner)
	<-x.body.reading
	x.mu.Lock()
	late := x.ended // the handler was given up
	if !late {
		x.atEnd = append(x.atEnd, end)
	}
	x.mu.Unlock()
	if late {
		end()
	}
	return true
}

// useless reports whether the rest of the body is of no use.
func (x *Exchange) useless() bool {
	x.mu.Lock()
	refused, drains := x.refused, x.drains
	x.mu.Unlock()
	return refused || drains != nil && drains()
}

// Header is where a host puts the headers of its answer. It is not always that of the
// exchange's writer, which another goroutine may use at the same time
// (http.TimeoutHandler).
type Header interface{ Set(key, value string) }

// Refuse says that the call is refused. It must be called before the answer is written,
// on the goroutine that writes it. If the body has not arrived over HTTP/1.1, the answer
// does not wait for it: the connection ends with it.
func (x *Exchange) Refuse(h Header) {
	if x.setRefused() && x.r.ProtoMajor < 2 {
		x.answerAtOnce(h)
	}
}

// setRefused reports whether it was called for the first time, and in time.
func (x *Exchange) setRefused() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.refused || x.over {
		return false
	}
	x.refused = true
	return true
}

// BeforeHeader changes the headers of an answer before they are written, on the
// goroutine that writes them: what a handler further out said to caches is not true of a
// refusal.
func (x *Exchange) BeforeHeader(h http.Header) {
	if x == nil {
		return
	}
	x.mu.Lock()
	refused := x.refused
	x.answered = true
	x.mu.Unlock()
	said := h["Cache-Control"]
	switch {
	case !refused || len(said) == 0:
	case slices.Contains(said, "no-store"):
		h.Set("Cache-Control", "no-store")
	default:
		h.Del("Cache-Control")
	}
}

// Refuse says of the call that ctx belongs to that it is refused; see [Exchange.Refuse].
// Without an exchange it does nothing.
func Refuse(ctx context.Context, h Header) {
	if x := From(ctx); x != nil {
		x.Refuse(h)
	}
}

// End ends the exchange when its handler has returned or panicked.
func (x *Exchange) End() {
	x.mu.Lock()
	refused := x.refused
	x.mu.Unlock()
	if refused {
		x.finish()
	}
	x.mu.Lock()
	atEnd := x.atEnd
	x.ended = true
	x.mu.Unlock()
	for _, end := range atEnd {
		end()
	}
	KeepForm(x.r, x.inner)
	x.mu.Lock()
	x.over = true
	x.mu.Unlock()
}

// KeepForm lets net/http remove the files of a form that a handler has parsed: it knows
// only the request that it has made, r, and not the copy that was handled.
func KeepForm(r, handled *http.Request) {
	if r.MultipartForm == nil {
		r.MultipartForm = handled.MultipartForm
	}
}
