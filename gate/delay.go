package gate

import (
	"math/rand/v2"
	"time"
)

// drawDelay draws a retry delay evenly from the range for the reason, and returns the
// lower end of the range, too. stretch, between 0 and 1, moves the range toward the
// ceiling. t is what the rule of the call says.
func (s *settings) drawDelay(reason Reason, stretch float64, t *terms) (drawn, low time.Duration) {
	low, high := t.delays(s)
	if reason == ReasonDraining {
		low, high = s.minDrainDelay, s.maxDrainDelay
	} else if stretch > 0 {
		grown := high + time.Duration(stretch*float64(max(s.delayCeiling-high, 0)))
		if high > 0 {
			low = time.Duration(float64(low) / float64(high) * float64(grown))
		}
		high = grown
	}
	return low + time.Duration(rand.Int64N(int64(high-low)+1)), low
}

// drawRounding draws what rounds a delay to whole seconds: a number of milliseconds
// below a second.
func drawRounding() time.Duration { return time.Duration(rand.IntN(1000)) * time.Millisecond }

// RetrySeconds is RetryDelay in whole seconds, for HTTP's Retry-After. It was rounded at
// random when the delay was drawn: up or down, so that the mean of many delays stays the
// same. It is at least 1. While the gate drains it is rounded down, to 0 if the delay is
// below a second: clients should go elsewhere at once.
func (r *Rejection) RetrySeconds() int64 {
	if r.Reason == ReasonDraining {
		return int64(r.RetryDelay / time.Second)
	}
	least := r.RetryDelay - r.roundedBy
	return max((int64(least)-1)/int64(time.Second)+1, 1) // rounded up
}

// pressure is the share of recent calls that were rejected, kept up to date by
// the rejections themselves so that an admitted call pays nothing for it.
type pressure struct {
	since              int64 // when the current second began; 0: never
	accepted, rejected uint64
	share              float64 // of the last full second
}

// stretchLocked returns the share of the last full second, or 0 for a gate whose retry
// delay does not grow.
func (p *pressure) stretchLocked(g *Gate) float64 {
	if g.set().delayCeiling == 0 {
		return 0
	}
	now := g.now()
	passed := now - p.since
	if passed < 0 { // another bubble of testing/synctest
		*p = pressure{}
	}
	if p.since != 0 && passed < int64(time.Second) {
		return p.share
	}
	accepted, rejected := g.acceptsLocked(), g.totals.allRejected()
	if p.since != 0 {
		// A grant that was handed on is accepted no more, so there may be
		// fewer than a second ago.
		a, r := max(int64(accepted-p.accepted), 0), int64(rejected-p.rejected)
		p.share = float64(r) / float64(a+r)
	}
	p.since, p.accepted, p.rejected = now, accepted, rejected
	return p.share
}
