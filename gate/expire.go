package gate

import (
	"math"
	"time"
	"weak"

	"github.com/rpcgate/rpcgate/gate/internal/era"
)

// expiry ends the waits of all calls at a gate with one timer. The timer is set for
// the wait that ends first, or for an earlier time: if it finds nothing to end,
// because that call was admitted long ago, it is set anew. So a call that waits and
// is admitted in time, as most are, neither starts a timer nor stops one.
type expiry struct {
	timer *time.Timer
	at    int64   // when the timer is due, 0 if it is not set
	era   era.Era // that it was made in
}

// watchWaitsLocked sets the timer if a wait ends before the time that it is set for.
func (g *Gate) watchWaitsLocked(now moment) {
	if len(g.queue.ends) == 0 {
		return
	}
	x := &g.expiry
	if !x.era.Same(now.era) {
		*x = expiry{era: now.era}
	}
	first := g.queue.ends[0].until
	if x.at != 0 && x.at <= first {
		return
	}
	x.at = first
	left := time.Duration(first - now.at)
	if x.timer == nil {
		x.timer = time.AfterFunc(left, expirerOf(g))
	} else {
		x.timer.Reset(left)
	}
}

// expirerOf is what the timer calls. It knows the gate weakly: the timer stays set
// when the calls that it was set for are through, and must not keep a gate that is
// no longer used alive for as long as calls might have waited there. A waiting
// goroutine keeps the gate alive.
func expirerOf(g *Gate) func() {
	known := weak.Make(g)
	return func() {
		if g := known.Value(); g != nil {
			g.expire()
		}
	}
}

// until is when a wait that begins now and has the given budget ends. It does not
// overflow: the end of an endless wait comes after all others.
func until(now int64, budget time.Duration) int64 {
	if now > 0 && int64(budget) > math.MaxInt64-now {
		return math.MaxInt64
	}
	return now + int64(budget)
}

// expire ends the waits whose time is up.
func (g *Gate) expire() {
	now := g.moment()
	g.mu.Lock()
	defer g.unlock()
	if now.era != g.expiry.era {
		return // a timer of another era, for waits that are long over
	}
	g.expiry.at = 0
	for len(g.queue.ends) > 0 && g.queue.ends[0].until <= now.at {
		g.turnAwayLocked(g.queue.ends[0].slot, ReasonWaitTimeout)
	}
	g.dispatchLocked() // the call in front may fit now
	g.watchWaitsLocked(now)
}
