package gatedebug

import (
	"math"
	"time"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/gate/internal/era"
)

const (
	// recently is how long a gate counts as refusing after a rejection, and as
	// waiting after a long wait.
	recently = 5 * time.Second
	// calmAfter is how long nothing must happen for the next time to be a new
	// beginning.
	calmAfter = 10 * time.Second
	// longWait divides the gate's maximum wait: a wait above that is long.
	// Shorter ones are what a queue is for.
	longWait = 4
)

// spell is a time in which something happened again and again.
type spell struct {
	since, last time.Time
}

func (s *spell) add(since, now time.Time) {
	if !s.within(calmAfter, now) {
		s.since = since
	}
	s.last = now
}

// within reports whether the last time was not longer ago than d.
func (s *spell) within(d time.Duration, now time.Time) bool {
	return !s.last.IsZero() && now.Sub(s.last) <= d
}

// trouble is when calls waited for long and when calls were rejected.
type trouble struct {
	long               time.Duration // the shortest wait that is long
	waiting, rejecting spell
}

// add notes a decision and reports whether it was trouble.
func (t *trouble) add(now time.Time, e *gate.Event) bool {
	long := e.Waited >= t.long
	if long {
		t.waiting.add(now.Add(-e.Waited), now)
	}
	if e.Decision.Rejected() {
		t.rejecting.add(now, now)
	}
	return long || e.Decision.Rejected()
}

// within reports whether there was trouble in the last d.
func (t *trouble) within(d time.Duration, now time.Time) bool {
	return t.waiting.within(d, now) || t.rejecting.within(d, now)
}

// status sums up a gate for people.
type status struct {
	State string // one of the states below
	// Since is when the gate began to refuse calls or to let them wait for long, as
	// State says, or zero.
	Since time.Time
	// LastRejected is when a call was last rejected, or zero.
	LastRejected time.Time
	// Pressure orders gates, the bottleneck first. Below 1 there is no trouble,
	// from 1 on calls wait for long, from 2 on calls are rejected. In a dry run
	// it is half of that.
	Pressure float64
}

// The states of a gate, from good to bad. In a dry run they say what the state
// would be.
const (
	stateOK       = "ok"
	stateFull     = "full"     // the gate is at its limit
	stateWaiting  = "waiting"  // calls waited for long recently
	stateRefusing = "refusing" // a call was rejected recently
	stateDraining = "draining" // the gate admits no more calls
)

// pace is the mean rate of decisions in the last seconds. Newer ones have more
// weight.
type pace struct {
	accepted, rejected float64 // per second
}

// add includes the rates of the time since the last add.
func (p *pace) add(accepted, rejected float64, elapsed time.Duration) {
	keep := math.Exp(-elapsed.Seconds() / recently.Seconds())
	p.accepted = p.accepted*keep + accepted*(1-keep)
	p.rejected = p.rejected*keep + rejected*(1-keep)
}

// severity is a number from 0 to 1: the share of rejected calls, made smaller if
// they are few. A gate with two calls a minute is never the worst.
func (p *pace) severity() float64 {
	if p.rejected <= 0 {
		return 0
	}
	return p.rejected / (p.accepted + p.rejected) * p.rejected / (p.rejected + 10)
}

// status returns the status of the gate at a time that was just read. p is the pace of
// its decisions, or zero if it is not known.
func (w *watch) status(now time.Time, s *gate.Snapshot, p pace) status {
	w.mu.Lock()
	w.enterLocked(era.Of(now))
	t := w.trouble
	w.mu.Unlock()
	st := status{LastRejected: t.rejecting.last}
	queued := 0.0 // how full the queue is
	if s.Waiting > 0 {
		queued = min(float64(s.Waiting)/float64(max(s.MaxWaiting, 1)), 1)
	}
	switch {
	case s.Draining:
		st.State = stateDraining
	case t.rejecting.within(recently, now):
		st.State, st.Since, st.Pressure = stateRefusing, t.rejecting.since, 2+p.severity()
	case t.waiting.within(recently, now):
		st.State, st.Since, st.Pressure = stateWaiting, t.waiting.since, 1+queued*0.99
	case s.InFlight >= s.Limit || s.Waiting > 0:
		st.State, st.Pressure = stateFull, 0.99
	default:
		st.State, st.Pressure = stateOK, 0.98*float64(s.InFlight)/float64(s.Limit)
	}
	if s.DryRun {
		st.Pressure /= 2 // no client is affected
	}
	return st
}
