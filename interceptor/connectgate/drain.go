package connectgate

import (
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// Limits for reading the body of a refused request.
const (
	maxDrained = 16 << 10
	drainTime  = 10 * time.Millisecond
)

// drain reads what the client is still sending of the body of a refused request, over
// HTTP/2, before the response ends. Otherwise net/http resets the stream, first with
// NO_ERROR, which some clients take for a failure although they must not (RFC 9113,
// section 8.1; curl 7.88), then with STREAM_CLOSED when the rest of the body arrives.
// nginx 1.22 takes that for the answer to the next call on the connection and sends
// 502. If a client keeps its side of the stream open, drain gives up after drainTime.
func drain(w http.ResponseWriter, r *http.Request) {
	if !drainable(r) {
		return
	}
	if stop, ok := hurry(w, http.NewResponseController(w).SetReadDeadline); ok {
		_, _ = io.CopyN(io.Discard, r.Body, maxDrained)
		stop()
	}
}

func drainable(r *http.Request) bool {
	return r.ProtoMajor == 2 && r.ContentLength != 0 && r.ContentLength <= maxDrained
}

// drainedBody is the body of a call that its handler may still refuse. The handler
// closes it at the end, and then it cannot be drained any more. So Close drains it.
type drainedBody struct {
	io.ReadCloser
	held *heldWriter

	// reading is a lock for Read: grpc-go reads on one goroutine and closes on
	// another, and net/http's body wakes only one of two goroutines that wait to
	// read. A mutex would stop the time of a synctest bubble.
	reading chan struct{}
	ended   atomic.Bool
}

func newDrainedBody(held *heldWriter, body io.ReadCloser) *drainedBody {
	return &drainedBody{ReadCloser: body, held: held, reading: make(chan struct{}, 1)}
}

func (b *drainedBody) Read(p []byte) (int, error) {
	b.reading <- struct{}{}
	defer func() { <-b.reading }()
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.ended.Store(true)
	}
	return n, err
}

// Close drains the body if no message was sent, as after a refusal, and closes it.
// Like Read, it may be called on any goroutine. Wrappers that handlers have put around
// the body may hold their locks when they call it, so it reads the body itself and not
// through them.
func (b *drainedBody) Close() error {
	if b.ended.Load() {
		return b.ReadCloser.Close()
	}
	stop, ok := b.held.hurryReads()
	if !ok {
		return b.ReadCloser.Close()
	}
	defer stop()
	if b.held.retryAfter {
		return b.closeUnread()
	}
	_, _ = io.CopyN(io.Discard, b, maxDrained)
	return b.ReadCloser.Close()
}

// closeUnread closes, without draining it, the body of a transcoder. It waits until
// nothing reads the body: Vanguard 0.4 holds a lock while it waits for the client's
// next message, and takes the same lock to close.
func (b *drainedBody) closeUnread() error {
	select {
	case b.reading <- struct{}{}:
		defer func() { <-b.reading }()
	case <-time.After(2 * drainTime): // the deadline does not end this reading
	}
	return b.ReadCloser.Close()
}
