package pace

import (
	"sync"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

// bound is how slow a client may be that a handler waits for. Only time in which the
// handler waits counts.
//
// Usually a Read or a Write does not wait, or not for long. So the deadline of the
// connection, which costs more than a timer, is set only when it has passed. Until then
// the deadline that the server has set counts.
type bound struct {
	reason gate.Reason  // for which the call is cut off
	abort  func() error // makes the operation fail that waits

	mu      sync.Mutex // guards what follows
	rate    Rate
	lease   gate.Lease  // the zero Lease before the call is admitted
	first   time.Time   // when the first operation began; the times below are since then
	timer   *time.Timer // made by the first operation
	armed   bool        // the timer will fire
	waiting bool        // an operation waits since began, and may do so until late
	began   time.Duration
	late    time.Duration
	bytes   int64         // of all operations
	waited  time.Duration // in all operations
	slow    bool          // the call was cut off
	over    bool
}

// admit begins the bound of a call with the given lease. It ends when the lease is
// released.
func (b *bound) admit(lease gate.Lease, rate Rate) {
	b.mu.Lock()
	b.lease, b.rate = lease, rate
	b.mu.Unlock()
}

// end ends the bound: abort is not called any more.
func (b *bound) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
	if b.timer != nil {
		b.timer.Stop()
	}
}

// isSlow reports whether the call was cut off.
func (b *bound) isSlow() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.slow
}

// begin begins an operation, and reports whether it is bounded. The client has the time
// for what was sent and for n bytes more.
func (b *bound) begin(n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.rate.Bounds() || b.lease == (gate.Lease{}) || b.over {
		return false
	}
	if b.timer == nil {
		b.first = time.Now()
	}
	b.waiting, b.began = true, time.Since(b.first)
	b.late = b.began + max(b.rate.TimeFor(b.bytes+int64(n))-b.waited, 0)
	// A timer that was armed for an earlier operation stays: no operation is late
	// before it fires.
	if !b.armed {
		b.arm(b.late - b.began)
	}
	return true
}

func (b *bound) arm(d time.Duration) {
	b.armed = true
	if b.timer == nil {
		b.timer = time.AfterFunc(d, b.look)
	} else {
		b.timer.Reset(d)
	}
}

// finish ends an operation on n bytes, and reports whether the call was cut off.
func (b *bound) finish(n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting = false
	b.bytes += int64(n)
	b.waited += time.Since(b.first) - b.began
	return b.slow
}

// look cuts the call off if an operation has waited for too long.
func (b *bound) look() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.armed = false
	if b.over || !b.waiting {
		return
	}
	if left := b.late - time.Since(b.first); left > 0 {
		b.arm(left)
		return
	}
	if !b.lease.CutOff(b.reason) { // it was released, or cut off before
		b.rate = Rate{}
		return
	}
	b.slow = true
	// If the writer has no deadlines, the operation ends when the client goes on.
	_ = b.abort()
}
