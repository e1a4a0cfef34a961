package connectgate

import (
	"sync"

	"github.com/rpcgate/rpcgate/gate"
)

// turn is the place of the message that a stream's handler works on. Its methods
// may be used by several goroutines at once.
type turn struct {
	mu    sync.Mutex
	lease gate.Lease
	ended bool // the handler has returned
}

// hold makes lease the one that is held, in place of the last one. If the
// handler has returned, while a goroutine of its own was still receiving, it
// gives lease back.
func (t *turn) hold(lease gate.Lease) {
	t.mu.Lock()
	last := t.lease
	t.lease = lease
	if t.ended {
		t.lease = gate.Lease{}
		defer lease.Release()
	}
	t.mu.Unlock()
	last.Release()
}

// pass gives back what is held.
func (t *turn) pass() { t.hold(gate.Lease{}) }

// end gives back what is held, for good.
func (t *turn) end() {
	t.mu.Lock()
	t.ended = true
	t.mu.Unlock()
	t.pass()
}
