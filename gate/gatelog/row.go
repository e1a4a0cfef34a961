package gatelog

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

// maxReasons is above the number of reasons for a rejection.
const maxReasons = 16

// counts is what a row counts in an interval.
type counts struct {
	gate, route         string
	accepted, abandoned uint64
	rejected            [maxReasons]uint64 // by gate.Reason
	dropped             int64              // details not written
	heldTooLong         uint64
	cutOff              [maxReasons]uint64 // by gate.Reason
	anyCutOff           bool
	peak, limit         int64
	dryRun              bool // there was a decision in a dry run
	enforced            bool // there was an enforced rejection

	waits   uint64 // decisions whose wait counts
	waited  time.Duration
	longest time.Duration
	buckets histogram
}

// allRejected returns the number of rejections for all reasons.
func (c *counts) allRejected() (n uint64) {
	for _, r := range c.rejected {
		n += r
	}
	return n
}

// any reports whether there was an event.
func (c *counts) any() bool {
	return c.waits != 0 || c.abandoned != 0 || c.heldTooLong != 0 || c.anyCutOff
}

// row counts the calls of a route at a gate.
type row struct {
	gate, route string
	dropped     atomic.Int64

	mu     sync.Mutex // guards what follows
	gone   bool       // given up: no longer counts
	idle   bool       // had no event in the last interval
	sample uint64     // of sampleOne
	counts counts
}

// add counts an event and reports whether it belongs to the sample. It is not ok
// if the row was given up.
func (r *row) add(e *gate.Event, step uint64) (sampled, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gone {
		return false, false
	}
	c := &r.counts
	switch e.Kind {
	case gate.EventMaxHold:
		c.heldTooLong++
		c.limit = e.Limit
		return false, true
	case gate.EventRelease:
		c.cutOff[int(e.Reason)%maxReasons]++
		c.anyCutOff = true
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

// take returns the counts, if there are any, and sets them to zero.
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

// giveUp gives the row up, unless it had an event in the last interval or since,
// and reports whether it did.
func (r *row) giveUp() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gone = r.idle && !r.counts.any()
	return r.gone
}
