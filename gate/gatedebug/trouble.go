package gatedebug

import (
	"math"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

const (
	// recently is how long ago a rejection may be for a gate to count as
	// refusing.
	recently = 5 * time.Second
	// calmAfter is how long no call may have been rejected, or have waited
	// for long, for the trouble to be over.
	calmAfter = 10 * time.Second
	// longWait is the part of the allowed wait that counts as long: shorter
	// ones are what a queue is for.
	longWait = 4
)

// trouble is the time, so far, in which calls were rejected or waited for long.
type trouble struct {
	long                       time.Duration // the shortest wait that counts
	since, last, lastRejection time.Time
}

func (t *trouble) add(now time.Time, e *gate.Event) {
	if !e.Decision.Rejected() && e.Waited < t.long {
		return
	}
	if t.last.IsZero() || now.Sub(t.last) > calmAfter {
		t.since = now.Add(-e.Waited)
	}
	t.last = now
	if e.Decision.Rejected() {
		t.lastRejection = now
	}
}

func (t *trouble) refusing(now time.Time) bool {
	return !t.lastRejection.IsZero() && now.Sub(t.lastRejection) <= recently
}

// status sums up a gate for people.
type status struct {
	State string // one of the states below
	// Since is when the trouble began that the gate is in, or zero.
	Since time.Time
	// Pressure orders gates, the bottleneck first: below 1 there is no
	// trouble, from 1 on calls wait for long, from 2 on they are refused. In
	// a dry run it is half of that.
	Pressure float64
}

// The states of a gate, in the order of how bad they are. In a dry run they are
// what they would be.
const (
	stateOK       = "ok"
	stateFull     = "full"     // at its limit
	stateWaiting  = "waiting"  // calls wait for long, or did within calmAfter
	stateRefusing = "refusing" // a call was refused recently
	stateDraining = "draining" // takes no more calls
)

// pace is how many decisions of a kind there were lately, newer ones counting
// more.
type pace struct {
	accepted, rejected float64 // per second
}

// add takes in the decisions of the time since the last call.
func (p *pace) add(accepted, rejected float64, elapsed time.Duration) {
	keep := math.Exp(-elapsed.Seconds() / recently.Seconds())
	p.accepted = p.accepted*keep + accepted*(1-keep)
	p.rejected = p.rejected*keep + rejected*(1-keep)
}

// severity is from 0 to 1: the share of the calls that are rejected, the less of
// it the fewer they are. A gate with two calls a minute is never the worst.
func (p *pace) severity() float64 {
	if p.rejected <= 0 {
		return 0
	}
	return p.rejected / (p.accepted + p.rejected) * p.rejected / (p.rejected + 10)
}

// status says how the gate is. p is what is known of its decisions lately.
func (w *watch) status(now time.Time, s *gate.Snapshot, p pace) status {
	w.mu.Lock()
	t := w.trouble
	w.mu.Unlock()
	var st status
	hard := !t.last.IsZero() && now.Sub(t.last) <= calmAfter
	if hard {
		st.Since = t.since
	}
	queued := 0.0 // how full the queue is
	if s.Waiting > 0 {
		queued = min(float64(s.Waiting)/float64(max(s.MaxWaiting, 1)), 1)
	}
	switch {
	case s.Draining:
		st.State = stateDraining
	case t.refusing(now):
		st.State, st.Pressure = stateRefusing, 2+p.severity()
	case hard:
		st.State, st.Pressure = stateWaiting, 1+queued*0.99
	case s.InFlight >= s.Limit || s.Waiting > 0:
		st.State, st.Pressure = stateFull, 0.99
	default:
		st.State, st.Pressure = stateOK, 0.98*float64(s.InFlight)/float64(s.Limit)
	}
	if s.DryRun {
		st.Pressure /= 2 // nobody suffers
	}
	return st
}
