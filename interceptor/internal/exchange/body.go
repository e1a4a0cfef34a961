package exchange

import (
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// body is the body of a request whose handler may still refuse it. The handler closes
// it, and then it cannot be drained any more: so Close drains it. Without a refusal the
// body works as ever.
type body struct {
	x     *Exchange
	inner io.ReadCloser

	// reading is a lock for Read: grpc-go reads on one goroutine and closes on
	// another, and net/http's body wakes only one of two goroutines that wait to
	// read. A mutex would stop the time of a synctest bubble.
	reading chan struct{}
	begun   atomic.Bool // it was read
	ended   atomic.Bool // it was read to its end, or is broken
	closed  atomic.Bool
	guard   atomic.Pointer[Guard]
}

// Guard bounds the time for which the handler waits for the body. Begin is called before
// each Read; if it returns true, Finish is called after it with what was read, and its
// error, if there is one, is the Read's.
type Guard interface {
	Begin() bool
	Finish(n int) error
}

// GuardBody sets the guard of the body from now on.
func (x *Exchange) GuardBody(g Guard) { x.body.guard.Store(&g) }

func (b *body) start(x *Exchange, inner io.ReadCloser) {
	b.x, b.inner, b.reading = x, inner, make(chan struct{}, 1)
}

// Read reads the body.
func (b *body) Read(p []byte) (int, error) {
	if b.closed.Load() {
		return 0, http.ErrBodyReadAfterClose
	}
	g := b.guard.Load()
	if g == nil || !(*g).Begin() {
		return b.read(p)
	}
	n, err := b.read(p)
	if slow := (*g).Finish(n); slow != nil {
		err = slow
	}
	return n, err
}

func (b *body) read(p []byte) (int, error) {
	b.reading <- struct{}{}
	defer func() { <-b.reading }()
	b.begun.Store(true)
	n, err := b.inner.Read(p)
	if err != nil && !isLate(err) {
		b.ended.Store(true)
	}
	return n, err
}

// Close closes the body. If the rest of it is of no use, it is drained first over
// HTTP/2, and over HTTP/1.1 later, when the answer was sent. Like Read, it may be called
// on any goroutine. Wrappers that handlers have put around the body may hold their locks
// when they call it, so it reads the body itself and not through them.
func (b *body) Close() error {
	again := b.closed.Swap(true)
	switch {
	case b.ended.Load() || !b.x.useless():
		return b.inner.Close()
	case b.x.r.ProtoMajor < 2:
		return nil // net/http closes it
	case again:
		return b.inner.Close()
	case b.x.unread:
		return b.closeUnread()
	default:
		b.x.drain()
		return b.inner.Close()
	}
}

// closeUnread closes the body of a transcoder without draining it. It waits until
// nothing reads the body: Vanguard 0.4 holds a lock while it waits for the client's next
// message, and takes the same lock to close.
func (b *body) closeUnread() error {
	h := b.x.hurry(idleTime)
	if h == nil {
		return b.inner.Close()
	}
	defer h.stop()
	select {
	case b.reading <- struct{}{}:
		defer func() { <-b.reading }()
	case <-time.After(2 * idleTime): // the deadline does not end this reading
	}
	return b.inner.Close()
}
