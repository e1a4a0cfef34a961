// Package pace keeps clients of net/http from holding leases by being slow. It bounds the
// time for which the handler of an admitted call waits for the request's body. And while a
// call waits for its lease, it reads a small body, so that net/http notices when the
// caller leaves.
package pace

import (
	"io"
	"net/http"
	"os"
	"time"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/internal/exchange"
)

// ErrSlowRequest is the error of a Read of a body that is too slow. It matches
// [os.ErrDeadlineExceeded].
var ErrSlowRequest error = slowRequest{}

type slowRequest struct{}

func (slowRequest) Error() string { return "request too slow" }
func (slowRequest) Timeout() bool { return true }
func (slowRequest) Unwrap() error { return os.ErrDeadlineExceeded }

// Body is the body of a request. A host makes it before it asks the gate, gives it to
// the handler as the request's body, and calls End when the handler has returned or the
// call was refused. The nil *Body is that of a request without a body.
//
// Like the bodies of net/http, it may be read by one goroutine and closed by another one.
type Body struct {
	body  io.ReadCloser
	w     http.ResponseWriter
	ahead ahead
	rate  Rate
	bound bound

	// See Listen. They are nil for a host that has the request.
	x    *exchange.Exchange
	next gate.Caller // of the call
}

// New returns the body of a request that must come at the given rate once its call has a
// lease. It is nil if there is nothing to do: the request has no body, or there is no
// bound and the body is not to be read while the call waits.
func New(w http.ResponseWriter, r *http.Request, rate Rate) *Body {
	if r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	size := sizeAhead(w, r)
	if size == 0 && !rate.Bounds() {
		return nil
	}
	b := &Body{body: r.Body, w: w, rate: rate, ahead: ahead{size: size}}
	b.bound.reason, b.bound.abort = gate.ReasonSlowRequest, b.abort
	return b
}

// Admit gives the body to the handler of a call with the given lease. From now on it must
// come at the rate, until the lease is released. handled is the request that the handler
// gets, which belongs to the host.
func (b *Body) Admit(lease gate.Lease, handled *http.Request) {
	if b == nil {
		return
	}
	b.bound.admit(lease, b.rate)
	handled.Body = b
}

// Refused returns the request for the answer to a call that was not admitted. What is left
// of a body that was read ahead must be read through it.
func (b *Body) Refused(r *http.Request) *http.Request {
	if b == nil || !b.ahead.begun() {
		return r
	}
	refused := *r
	refused.Body = b
	return &refused
}

// Slow reports whether the call was cut off because of its body.
func (b *Body) Slow() bool { return b != nil && b.bound.isSlow() }

// End ends what the Body does besides being read: from now on it does not use the
// ResponseWriter, and no goroutine of its own reads.
func (b *Body) End() {
	if b == nil {
		return
	}
	b.endAhead()
	b.bound.end()
}

// Read reads the body. The error is [ErrSlowRequest] if the client is too slow.
func (b *Body) Read(p []byte) (int, error) {
	if !b.bound.begin(0) {
		return b.read(p)
	}
	n, err := b.read(p)
	if b.bound.finish(n) {
		return n, ErrSlowRequest
	}
	return n, err
}

func (b *Body) read(p []byte) (int, error) {
	if b.ahead.begun() {
		return b.ahead.read(p, b.body)
	}
	return b.body.Read(p)
}

// Close closes the body. While it is being read ahead, that would block.
func (b *Body) Close() error {
	if b.ahead.begun() && !b.ahead.close() {
		return nil
	}
	return b.body.Close()
}

// abort makes reads of the body fail.
func (b *Body) abort() error {
	return http.NewResponseController(b.w).SetReadDeadline(time.Now().Add(-time.Second))
}
