// Package pace keeps clients of net/http from holding leases by being slow. It bounds the
// time for which the handler of an admitted call waits for the request's body. And while a
// call waits for its lease, it reads a small body, so that net/http notices when the
// caller leaves.
package pace

import (
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/rpcgate/rpcgate/gate"
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

	mu       sync.Mutex // guards what follows
	rate     Rate
	lease    gate.Lease  // the zero Lease before the call is admitted
	first    time.Time   // when the first Read began; the times below are since then
	timer    *time.Timer // made by the first Read
	armed    bool        // the timer will fire
	reading  bool        // a Read waits since began, and may do so until late
	began    time.Duration
	late     time.Duration
	received int64         // by all Reads
	waited   time.Duration // in all Reads
	slow     bool          // the call was cut off
	over     bool
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
	return &Body{body: r.Body, w: w, rate: rate, ahead: ahead{size: size}}
}

// Admit gives the body to the handler of a call with the given lease. From now on it must
// come at the rate, until the lease is released. handled is the request that the handler
// gets, which belongs to the host.
func (b *Body) Admit(lease gate.Lease, handled *http.Request) {
	if b == nil {
		return
	}
	b.mu.Lock()
	b.lease = lease
	b.mu.Unlock()
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

// Slow reports whether the call was cut off.
func (b *Body) Slow() bool {
	if b == nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.slow
}

// End ends what the Body does besides being read: from now on it does not use the
// ResponseWriter, and no goroutine of its own reads.
func (b *Body) End() {
	if b == nil {
		return
	}
	b.endAhead()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
	if b.timer != nil {
		b.timer.Stop()
	}
}

// Read reads the body. The error is [ErrSlowRequest] if the client is too slow.
func (b *Body) Read(p []byte) (int, error) {
	if !b.begin() {
		return b.read(p)
	}
	n, err := b.read(p)
	if b.finish(n) {
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

// begin begins a Read, and reports whether it is bounded. Usually the data is there or
// comes soon. So the deadline of the connection, which costs more than a timer, is set
// only when it has passed. Until then the deadline that the server has set counts.
func (b *Body) begin() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.rate.Bounds() || b.lease == (gate.Lease{}) || b.over {
		return false
	}
	if b.timer == nil {
		b.first = time.Now()
	}
	b.reading, b.began = true, time.Since(b.first)
	b.late = b.began + max(b.rate.TimeFor(b.received)-b.waited, 0)
	// A timer that was armed for an earlier Read stays: no Read is late before it fires.
	if !b.armed {
		b.arm(b.late - b.began)
	}
	return true
}

func (b *Body) arm(d time.Duration) {
	b.armed = true
	if b.timer == nil {
		b.timer = time.AfterFunc(d, b.look)
	} else {
		b.timer.Reset(d)
	}
}

// finish ends a Read of n bytes, and reports whether the call was cut off.
func (b *Body) finish(n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reading = false
	b.received += int64(n)
	b.waited += time.Since(b.first) - b.began
	return b.slow
}

// look cuts the call off if a Read has waited for too long.
func (b *Body) look() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.armed = false
	if b.over || !b.reading {
		return
	}
	if left := b.late - time.Since(b.first); left > 0 {
		b.arm(left)
		return
	}
	if !b.lease.CutOff(gate.ReasonSlowRequest) { // it was released
		b.rate = Rate{}
		return
	}
	b.slow = true
	// If the writer has no deadlines, the Read ends with the client's next bytes.
	_ = b.abort()
}

// abort makes reads of the body fail.
func (b *Body) abort() error {
	return http.NewResponseController(b.w).SetReadDeadline(time.Now().Add(-time.Second))
}
