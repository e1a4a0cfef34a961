package gate

import (
	"cmp"
	"time"
)

// A dry run makes the same decisions on the same queue, but no goroutine waits
// and no call is rejected. Calls that the gate would have admitted hold units as
// ever. Calls that it would have rejected pass beside them (slotPassing). Calls that
// would have waited pass as well while their slot stands in the queue, until it is
// their turn, their time is up or they are done. Such a slot has a serial; a slot
// that a goroutine waits for has none.

// maxPassing keeps the sum of units from overflowing, whatever costs a dry run
// lets pass.
const maxPassing = 4 * MaxLimit

// SetDryRun turns the dry run on or off; see [WithDryRun]. Calls that wait or
// passed already end as they began.
func (g *Gate) SetDryRun(on bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.dryRun = on
	g.setDutiesLocked()
}

// DryRun reports whether the gate is in a dry run and lets all calls pass.
func (g *Gate) DryRun() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.dryRun
}

// passLocked lets a call pass that would have been rejected.
func (g *Gate) passLocked(s *slot, a *arrival) {
	g.goAheadLocked(s, a)
	s.state = slotPassing
	g.totals.rejected[a.reason]++
	a.numbers = g.numbersLocked()
	a.lease = g.passLeaseLocked(s, a.reason.decision(), a.reason)
}

// passInLineLocked lets a call pass that would have waited.
func (g *Gate) passInLineLocked(s *slot, a *arrival) {
	g.goAheadLocked(s, a)
	g.standInLineLocked(s, a)
	g.shadows++
	a.lease = g.passLeaseLocked(s, Accepted, 0)
}

// goAheadLocked gives a slot to a call that goes ahead without units.
func (g *Gate) goAheadLocked(s *slot, a *arrival) {
	if a.now.at == 0 {
		a.now = g.moment()
		s.since = a.now.at
	}
	g.serial++
	g.totals.unaccepted++ // until it is known to be
	s.serial = g.serial
	s.cost = min(g.clampLocked(a.level, a.want), maxPassing-g.passing)
	g.passing += s.cost
	g.watchHoldLocked(s, a.now)
}

// passLeaseLocked returns the lease of such a call.
func (g *Gate) passLeaseLocked(s *slot, d Decision, r Reason) Lease {
	return Lease{slot: s, serial: s.serial, inFlight: g.inFlight + g.passing, outcome: newOutcome(d, r, true)}
}

// settleLocked decides about a call that passed while its slot was in the queue: it
// would have been admitted now, or rejected for the given reason. The slot is out
// of the queue already.
func (g *Gate) settleLocked(s *slot, reason Reason) {
	g.shadows--
	s.waited = time.Duration(g.now() - s.since)
	n := g.numbersLocked()
	n.dryRun = true
	decision := Accepted
	if reason == 0 {
		g.passing -= s.cost
		s.cost = g.clampLocked(s.level, s.want)
		g.inFlight += s.cost
		s.state = slotHolding
		g.totals.unaccepted--
	} else {
		g.unbookKeyLocked(s)
		s.state = slotPassing
		g.totals.rejected[reason]++
		decision = reason.decision()
	}
	if s.observed {
		call := s.known()
		e := n.event(g, EventDecision, &call)
		e.slot, e.serial, e.id = s, s.serial, cmp.Or(s.call.id, g.callID(s.serial))
		e.Decision, e.Reason, e.Waited, e.SelfWait = decision, reason, s.waited, s.selfWait
		g.deferred = append(g.deferred, deferredEvent{s.ctx, e})
	}
}
