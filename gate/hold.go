package gate

import (
	"time"

	"github.com/rpcgate/rpcgate/gate/internal/era"
)

// holdWatch finds leases that are held for longer than [WithMaxHold] allows. It has
// them in the order in which they were given, so that only the first ones are ever
// looked at, however many there are.
type holdWatch struct {
	first, last *slot
	timer       *time.Timer
	at          int64   // when the timer is due, 0 if it is not set
	era         era.Era // that the timer was made in
}

// mostReported is how many leases are reported while the lock is held once.
const mostReported = 64

// watchHoldLocked begins to watch the lease on s, which was given now.
func (g *Gate) watchHoldLocked(s *slot, now moment) {
	maxHold := g.set().maxHold
	if maxHold == 0 {
		return
	}
	w := &g.holdWatch
	if w.era != now.era {
		for w.first != nil { // held in an era whose clock says nothing about this one
			g.unwatchHoldLocked(w.first)
		}
		w.timer, w.at, w.era = nil, 0, now.era
	}
	s.watched = true
	s.heldBefore, s.heldAfter = w.last, nil
	if w.last == nil {
		w.first = s
	} else {
		w.last.heldAfter = s
	}
	w.last = s
	g.setHoldTimerLocked(now)
}

// unwatchHoldLocked ends what watchHoldLocked began.
func (g *Gate) unwatchHoldLocked(s *slot) {
	w := &g.holdWatch
	s.watched = false
	if s.heldBefore == nil {
		w.first = s.heldAfter
	} else {
		s.heldBefore.heldAfter = s.heldAfter
	}
	if s.heldAfter == nil {
		w.last = s.heldBefore
	} else {
		s.heldAfter.heldBefore = s.heldBefore
	}
	s.heldBefore, s.heldAfter = nil, nil
}

// setHoldTimerLocked sets the timer for the oldest lease, unless it is set for an
// earlier time: then it is set anew when it fires.
func (g *Gate) setHoldTimerLocked(now moment) {
	w := &g.holdWatch
	if now.era == era.Unknown {
		w.timer, w.at = nil, 0
	}
	if w.first == nil || w.at != 0 {
		return
	}
	w.at = until(w.first.since, g.set().maxHold)
	left := time.Duration(w.at - now.at)
	if w.timer == nil {
		w.timer = time.AfterFunc(left, g.reportHolders)
	} else {
		w.timer.Reset(left)
	}
}

// reportHolders tells of each lease that has been held for too long, once.
func (g *Gate) reportHolders() {
	now := g.moment()
	g.mu.Lock()
	defer g.unlock()
	w := &g.holdWatch
	if now.era != w.era {
		return // a timer of another era
	}
	w.at = 0
	for n := 0; w.first != nil && n < mostReported; n++ {
		s := w.first
		held := time.Duration(now.at - s.since)
		if held < g.set().maxHold {
			break
		}
		g.unwatchHoldLocked(s)
		call := s.known()
		e := g.numbersLocked().event(g, EventMaxHold, &call)
		e.Waited, e.Held = s.waited, held
		g.deferred = append(g.deferred, deferredEvent{s.ctx, e})
	}
	g.setHoldTimerLocked(now)
}
