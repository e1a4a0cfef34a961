package connectgate

import (
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// What is read of the body of a refused request, at most.
const (
	maxDrained = 16 << 10
	drainTime  = 10 * time.Millisecond
)

// drain takes in what is on its way of the body of a refused request, over HTTP/2,
// before the response ends. Otherwise net/http resets the stream: first with
// NO_ERROR, which some clients take for a failure though they must not (RFC 9113,
// section 8.1; curl 7.88), and with STREAM_CLOSED when the rest of the body comes,
// which nginx 1.22 takes for the answer to the next call on the connection, and
// sends 502. A client that keeps its side of a stream open is not waited for long.
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

// drainedBody is the body of a call that may yet be refused by its handler, which
// closes it at the end, and after that nothing can be drained.
type drainedBody struct {
	io.ReadCloser
	held *heldWriter

	// reading is held to read. grpc-go reads on one goroutine and closes on
	// another, and of two that wait to read, net/http's body wakes only one. It
	// is a channel and no mutex so that time goes on in a synctest bubble.
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

// Close closes the body, once it is drained if the call has been refused, or
// whatever else has ended it before a message was sent. Like Read, it may be called
// on any goroutine, and what handlers have put around the body calls it holding
// their locks: so it asks nobody but the body itself for what is left.
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

// closeUnread closes the body that a transcoder feeds, and that is not drained, when
// nobody reads it any more: Vanguard 0.4 holds a lock while it waits for the client's
// next message, and needs it to close.
func (b *drainedBody) closeUnread() error {
	select {
	case b.reading <- struct{}{}:
		defer func() { <-b.reading }()
	case <-time.After(2 * drainTime): // its reading has nothing to do with the deadline
	}
	return b.ReadCloser.Close()
}
