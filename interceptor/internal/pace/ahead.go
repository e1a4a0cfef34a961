package pace

import (
	"context"
	"io"
	"net/http"
	"sync"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/internal/exchange"
)

// maxAhead is the size up to which the body of a waiting call is read. A waiting call has
// no more than that in memory.
const maxAhead = 64 << 10

// ahead is the part of a Body that reads while the call waits.
type ahead struct {
	size int           // of the body; 0: it is not read ahead
	done chan struct{} // closed when nothing is read any more; nil: it was not begun
	more chan struct{} // has a message if there is something new; room for one

	mu       sync.Mutex // guards what follows
	buf      []byte     // with what was received, at its front
	received int
	taken    int   // by the handler
	err      error // nil: there may be more
	panicked any   // what the reading has panicked with
	closed   bool
}

// sizeAhead returns the size of a body that is read while its call waits, and 0 if it is
// not. The client must send it unasked, net/http must be able to stop a read, and it must
// not be the beginning of another protocol.
func sizeAhead(w http.ResponseWriter, r *http.Request) int {
	if r.ContentLength <= 0 || r.ContentLength > maxAhead ||
		r.Header["Expect"] != nil || r.Header["Upgrade"] != nil || !exchange.HasDeadlines(w) {
		return 0
	}
	return int(r.ContentLength)
}

// Listen sets the Caller of a call, if the gate has to tell that the call waits.
func (b *Body) Listen(call *gate.Call) {
	if b != nil && b.ahead.size > 0 {
		call.Caller = b
	}
}

// Listen is [Body.Listen] for a host that has no request. The exchange, which is there on
// a server that was configured, has its handler read through the Body if the call waits,
// and ends it.
func Listen(x *exchange.Exchange, call *gate.Call) {
	if x == nil {
		return
	}
	w, r := x.Server()
	if size := sizeAhead(w, r); size > 0 {
		call.Caller = &Body{w: w, x: x, next: call.Caller, ahead: ahead{size: size}}
	}
}

// Identify finds the caller as the call's own Caller does; see [gate.Call.Resolved].
func (b *Body) Identify(ctx context.Context) (requestID, remoteIP string) {
	if b.next != nil {
		return b.next.Identify(ctx)
	}
	call := gate.Call{}.Resolved(ctx)
	return call.RequestID, call.RemoteIP
}

// OnWait begins to read the body; see [gate.WaitListener]. If that fails, net/http ends the
// context of the request.
func (b *Body) OnWait(context.Context) {
	a := &b.ahead
	if a.begun() || b.x != nil && !b.attach() { // begun for an earlier gate of a chain
		return
	}
	a.done, a.more = make(chan struct{}), make(chan struct{}, 1)
	a.buf = make([]byte, a.size+1) // one more, for a Read that has only io.EOF
	go func() {
		defer close(a.done)
		a.fill(b.body)
	}()
}

// attach has the body of the exchange read through b.
func (b *Body) attach() bool {
	return b.x.ReadThrough(func(body io.ReadCloser) io.ReadCloser {
		b.body = body
		return b
	}, b.End)
}

// endAhead stops the goroutine that reads, and waits for it. If it has read all there is,
// the connection can still be used.
func (b *Body) endAhead() {
	if !b.ahead.begun() {
		return
	}
	select {
	case <-b.ahead.done:
	default:
		_ = b.abort()
		<-b.ahead.done
	}
}

func (a *ahead) begun() bool { return a.done != nil }

// fill reads the body to its end, or to the size that it should have. The handler gets a
// panic of the body, as if it had read it by itself.
func (a *ahead) fill(body io.Reader) {
	defer func() {
		if p := recover(); p != nil {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.panicked, a.err = p, io.ErrUnexpectedEOF
		}
	}()
	for a.err == nil && a.received < len(a.buf) { // only fill changes them
		n, err := body.Read(a.buf[a.received:])
		a.mu.Lock()
		a.received += n
		a.err = err
		a.mu.Unlock()
		a.tell()
	}
}

// tell wakes the handler if it waits in read.
func (a *ahead) tell() {
	select {
	case a.more <- struct{}{}:
	default:
	}
}

// read gives the handler what was received, and waits for it if need be. There may be more
// in the body than its size says, if somebody has replaced the body.
func (a *ahead) read(p []byte, body io.Reader) (int, error) {
	for over := false; ; {
		n, err, ok := a.take(p)
		switch {
		case ok:
			return n, err
		case over:
			return body.Read(p)
		}
		select {
		case <-a.more:
		case <-a.done:
			over = true
		}
	}
}

// take is read without the wait. It reports false if there is nothing yet.
func (a *ahead) take(p []byte) (n int, err error, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return 0, http.ErrBodyReadAfterClose, true
	}
	n = copy(p, a.buf[a.taken:a.received])
	a.taken += n
	switch {
	case n > 0 || len(p) == 0:
		return n, nil, true
	case a.panicked != nil:
		panic(a.panicked)
	default:
		return 0, a.err, a.err != nil
	}
}

// close makes reads fail, and reports whether nothing is read ahead any more.
func (a *ahead) close() bool {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.tell()
	select {
	case <-a.done:
		return true
	default:
		return false
	}
}
