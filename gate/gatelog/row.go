package gatelog

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

// maxReasons is more than there are reasons for a rejection.
const maxReasons = 16

// counts is what a row has counted in an interval.
type counts struct {
	gate, route         string
	accepted, abandoned uint64
	rejected            [maxReasons]uint64 // by gate.Reason
	dropped             int64              // details not written
	heldTooLong         uint64
	peak, limit         int64
	dryRun, enforced    bool // a decision was not enforced; a rejection was

	waits   uint64 // decisions that waits count in
	waited  time.Duration
	longest time.Duration
	buckets histogram
}

// allRejected is the number of rejections for whatever reason.
func (c *counts) allRejected() (n uint64) {
	for _, r := range c.rejected {
		n += r
	}
	return n
}

// any reports whether there was an event at all.
func (c *counts) any() bool {
	return c.waits != 0 || c.abandoned != 0 || c.heldTooLong != 0
}

// row counts the calls of a route at a gate.
type row struct {
	gate, route string
	dropped     atomic.Int64

	mu     sync.Mutex // guards what follows
	gone   bool       // given up: counts nothing any more
	idle   bool       // had no call in the interval before
	sample uint64     // of sampleOne
	counts counts
}

// add counts an event, and says whether it is one of the sample. It is not ok if
// the row was given up.
func (r *row) add(e *gate.Event, step uint64) (sampled, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gone {
		return false, false
	}
	c := &r.counts
	if e.Kind == gate.EventMaxHold {
		c.heldTooLong++
		c.limit = e.Limit
		return false, true
	}
	switch e.Decision {
	case gate.Accepted:
		c.accepted++
		c.wait(e.Waited)
	case gate.RejectedBusy, gate.RejectedTimeout:
		c.rejected[int(e.Reason)%maxReasons]++
		c.enforced = c.enforced || !e.DryRun
		c.wait(e.Waited)
	default:
		c.abandoned++
	}
	c.peak = max(c.peak, e.InFlight)
	c.limit = e.Limit
	c.dryRun = c.dryRun || e.DryRun
	r.sample += step
	if r.sample < sampleOne {
		return false, true
	}
	r.sample -= sampleOne
	return true, true
}

// wait counts the wait of a decision.
func (c *counts) wait(d time.Duration) {
	c.waits++
	c.waited += d
	c.longest = max(c.longest, d)
	c.buckets.add(d)
}

// take returns what was counted, if anything, and starts anew.
func (r *row) take() (counts, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.idle = !r.counts.any()
	if r.idle {
		return counts{}, false
	}
	c := r.counts
	c.gate, c.route, c.dropped = r.gate, r.route, r.dropped.Swap(0)
	r.counts = counts{}
	return c, true
}

// giveUp makes the row count nothing any more, if it had no call in the interval
// before and none since.
func (r *row) giveUp() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gone = r.idle && !r.counts.any()
	return r.gone
}
