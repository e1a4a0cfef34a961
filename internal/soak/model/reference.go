// Package model drives a gate and a simple model of it with the same random operations, in virtual time, and compares
// the two after every step.
package model

import (
	"slices"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

type state uint8

const (
	waiting state = iota + 1
	holding
	passing // let through by a dry run, beside the limit
	gone
)

func (s state) String() string {
	return [...]string{"new", "waiting", "holding", "passing", "gone"}[s]
}

// call is a call at the reference.
type call struct {
	id    int
	level gate.Priority
	want  int64
	key   string

	state  state
	dry    bool          // a dry run let it through: it has a lease in every state
	cost   int64         // units in use
	booked int64         // units on its key
	queued bool          // it had to wait, be it for no time
	start  time.Duration // of the wait
	expiry time.Duration // of the wait
	since  time.Duration // it has its lease
	serial int           // order in which leases were given
	waited time.Duration

	marked   bool          // as admitted in a dry run
	decision gate.Decision // 0 until it is known
	reason   gate.Reason
	inFlight int64 // what its lease or rejection must say
	limit    int64
	held     time.Duration // when it was released
	cut      gate.Reason   // it was cut off
}

// reference is the gate as one would explain it: lists and sums, nothing is kept that can be counted. Time moves when
// it is told to.
type reference struct {
	config
	limit    int64
	draining bool
	dryRun   bool
	emptied  int // how often nothing was left in flight
	now      time.Duration
	present  []*call // who waits, holds or passes, in order of arrival
	serial   int
	totals   struct {
		accepted, abandoned uint64
		rejected, cutOff    map[gate.Reason]uint64
	}
}

func newReference(c config) *reference {
	r := &reference{config: c, limit: c.limit, dryRun: c.dryRun}
	r.totals.rejected, r.totals.cutOff = map[gate.Reason]uint64{}, map[gate.Reason]uint64{}
	return r
}

// judge says whether a call that may wait for so long is admitted, has to wait, or else why it is refused. With tooShort
// it would not be worth while to wait.
func (r *reference) judge(c *call, budget time.Duration, tooShort bool) (state, gate.Reason) {
	switch {
	case r.draining:
		return gone, gate.ReasonDraining
	case r.overKeyCap(c):
		return gone, gate.ReasonKeyLimit
	case !r.behindSomebody(c) && r.fits(c):
		return holding, 0
	case budget == 0 && !tooShort, r.maxWait == 0, r.queueCap() == 0:
		return gone, gate.ReasonLimit
	case len(r.all(waiting)) >= r.queueCap() && r.displaced(c) == nil:
		return gone, gate.ReasonQueueFull
	case tooShort:
		return gone, gate.ReasonDeadline
	default:
		return waiting, 0
	}
}

// arrive is what becomes of a call.
func (r *reference) arrive(c *call, budget time.Duration, tooShort bool) {
	c.start = r.now
	switch verdict, reason := r.judge(c, budget, tooShort); verdict {
	case holding:
		r.book(c)
		r.present = append(r.present, c)
		r.admit(c)
	case waiting:
		r.enqueue(c, budget)
	default:
		r.refuse(c, reason)
	}
}

func (r *reference) enqueue(c *call, budget time.Duration) {
	var displaced *call
	if len(r.all(waiting)) >= r.queueCap() {
		displaced = r.displaced(c)
		r.reject(displaced, gate.ReasonQueueFull)
	}
	c.state, c.queued, c.expiry = waiting, true, r.now+budget
	r.book(c)
	if r.dryRun {
		r.pass(c)
	}
	r.present = append(r.present, c)
	c.inFlight = r.inFlight()
	if displaced != nil && !displaced.dry {
		displaced.inFlight = r.inFlight()
	}
}

func (r *reference) book(c *call) {
	if (r.keyLimit > 0 || r.keyShare > 0) && r.keyed(c) {
		c.booked = r.units(c)
	}
}

// pass gives a lease to a call that the dry run lets through.
func (r *reference) pass(c *call) {
	c.dry, c.marked, c.cost, c.since = true, true, r.units(c), r.now
	r.serial++
	c.serial = r.serial
}

func (r *reference) admit(c *call) {
	c.state, c.cost, c.decision, c.waited = holding, r.units(c), gate.Accepted, r.now-c.start
	r.totals.accepted++
	if c.dry {
		return
	}
	r.serial++
	c.serial, c.since, c.inFlight, c.marked = r.serial, r.now, r.inFlight(), r.dryRun
}

// refuse turns a call away that just came.
func (r *reference) refuse(c *call, reason gate.Reason) {
	r.reject(c, reason)
	if r.dryRun {
		r.pass(c)
		c.state = passing
		r.present = append(r.present, c)
		c.inFlight = r.inFlight()
	}
}

func (r *reference) reject(c *call, reason gate.Reason) {
	c.decision, c.reason, c.waited, c.booked = gate.RejectedBusy, reason, r.now-c.start, 0
	if reason == gate.ReasonWaitTimeout {
		c.decision = gate.RejectedTimeout
	}
	r.totals.rejected[reason]++
	c.state = gone
	if c.dry {
		c.state = passing
		return
	}
	r.forget(c)
	c.inFlight, c.limit = r.inFlight(), r.limit
}

// expire ends a wait.
func (r *reference) expire(c *call) {
	r.reject(c, gate.ReasonWaitTimeout)
	r.serve()
	if !c.dry {
		c.inFlight = r.inFlight()
	}
}

func (r *reference) abandon(c *call) {
	c.decision, c.waited, c.state = gate.Abandoned, r.now-c.start, gone
	r.totals.abandoned++
	r.forget(c)
	r.serve()
}

func (r *reference) forget(c *call) {
	r.present = slices.DeleteFunc(r.present, func(o *call) bool { return o == c })
}

// serve admits whose turn it is for as long as they fit.
func (r *reference) serve() {
	var served []*call
	for c := r.front(); c != nil && r.fits(c); c = r.front() {
		r.admit(c)
		served = append(served, c)
	}
	for _, c := range served {
		if !c.dry { // they wake when all of them have got their units
			c.inFlight = r.inFlight()
		}
	}
	if r.empty() {
		r.emptied++
	}
}

func (r *reference) release(c *call) {
	if c.state == waiting { // let through by a dry run, and done before its turn came
		r.admit(c)
	}
	c.state, c.held = gone, r.now-c.since
	r.forget(c)
	r.serve()
}

// cutOff reports whether the call was cut off by this.
func (r *reference) cutOff(c *call, reason gate.Reason) bool {
	if c.state == gone || c.cut != 0 || reason != gate.ReasonSlowRequest && reason != gate.ReasonSlowResponse {
		return false
	}
	c.cut = reason
	r.totals.cutOff[reason]++
	return true
}

func (r *reference) setLimit(n int64) {
	r.limit = n
	r.serve()
}

func (r *reference) drain() { r.draining = true }

func (r *reference) reopen() { r.draining = false }
