package pace

import (
	"time"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/internal/exchange"
)

// Guard is the bound of a body that its host does not see, since it has no request: the
// exchange, which is there on a server that was configured, reads it.
type Guard struct{ bound bound }

// GuardBody bounds the body of the exchange for an admitted call with the given lease. It
// returns nil if there is nothing to bound. When the handler has returned, End must be
// called.
func GuardBody(x *exchange.Exchange, lease gate.Lease, rate Rate) *Guard {
	if x == nil || !rate.Bounds() {
		return nil
	}
	g := &Guard{}
	g.bound.reason = gate.ReasonSlowRequest
	g.bound.abort = func() error { return x.SetReadDeadline(time.Now().Add(-time.Second)) }
	g.bound.admit(lease, rate)
	x.GuardBody(g)
	return g
}

// Begin implements [exchange.Guard].
func (g *Guard) Begin() bool { return g.bound.begin(0) }

// Finish implements [exchange.Guard]. The error is [ErrSlowRequest] if the client is too
// slow.
func (g *Guard) Finish(n int) error {
	if g.bound.finish(n) {
		return ErrSlowRequest
	}
	return nil
}

// Slow reports whether the call was cut off because of its body.
func (g *Guard) Slow() bool { return g != nil && g.bound.isSlow() }

// End ends the bound.
func (g *Guard) End() {
	if g != nil {
		g.bound.end()
	}
}
