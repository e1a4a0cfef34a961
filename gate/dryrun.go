package gate

import (
	"context"
	"time"
)

// A dry run makes the same decisions on the same queue, but no goroutine waits
// and nobody is refused. The calls that the gate would have admitted hold units
// as ever; those that it would have refused pass beside them (slotPassing); and
// those that it would have let wait pass as well while their slot stands in the
// queue, until it is their turn, their time is up or they are done. Such a slot
// differs from one with a goroutine behind it by its serial, which is not 0.

// maxPassing keeps the sum of units from overflowing, whatever costs a dry run
// lets pass.
const maxPassing = 4 * MaxLimit

// SetDryRun turns the dry run on or off; see [WithDryRun]. Calls that wait or
// passed already end as they began.
func (g *Gate) SetDryRun(on bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.dryRun = on
	g.setPlain()
}

// DryRun reports whether the gate lets everybody pass.
func (g *Gate) DryRun() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.dryRun
}

// passRefused lets a call pass that would have been refused. It is called with
// the lock held and releases it.
func (g *Gate) passRefused(ctx context.Context, a *arrival, reason Reason) (Lease, error) {
	s := g.pass(ctx, a)
	s.state = slotPassing
	g.totals.rejected[reason]++
	e := g.event(EventDecision, a.call)
	e.Decision, e.Reason = reason.decision(), reason
	return g.passed(ctx, s, e)
}

// passWaiting lets a call pass that would have waited. It is called with the
// lock held and releases it.
func (g *Gate) passWaiting(ctx context.Context, a *arrival, budget time.Duration) (Lease, error) {
	if g.queue.total >= g.maxWaiting() {
		g.turnAway(g.queue.lastBelow(a.level), ReasonQueueFull)
	}
	s := g.pass(ctx, a)
	g.standInLine(s, until(a.now, budget))
	return g.passed(ctx, s, Event{})
}

// pass takes a slot for a call that goes ahead without units. The lock is held.
func (g *Gate) pass(ctx context.Context, a *arrival) *slot {
	if a.now == 0 {
		a.now = g.now()
	}
	s := g.takeSlot(a.call, a.level, a.want)
	g.note(s, ctx, a.now, a.observed)
	g.serial++
	g.totals.unaccepted++ // until it is known to be
	s.serial = g.serial
	s.cost = min(g.clamp(a.level, a.want), maxPassing-g.passing)
	g.passing += s.cost
	g.watchHold(g.config.maxHold)
	return s
}

// passed makes the lease of such a call. e is what to tell observers, if that is
// known yet. It is called with the lock held and releases it.
func (g *Gate) passed(ctx context.Context, s *slot, e Event) (Lease, error) {
	decision := e.Decision
	if decision == 0 {
		decision = Accepted
	}
	lease := Lease{
		slot: s, serial: s.serial, gate: g,
		inFlight: g.inFlight + g.passing,
		outcome:  newOutcome(decision, e.Reason, true),
	}
	observed := s.observed
	g.unlockOr(lease.Release)
	if observed && e.Decision != 0 {
		g.emitHeld(ctx, &e, lease)
	}
	return lease, nil
}

// settle decides about a call that passed while its slot was in the queue: it
// would have been admitted now, or refused for the given reason. The slot is out
// of the queue already. The lock is held.
func (g *Gate) settle(s *slot, reason Reason) {
	s.waited = time.Duration(g.now() - s.since)
	e := g.event(EventDecision, &s.call)
	e.DryRun, e.Waited = true, s.waited
	if reason == 0 {
		g.passing -= s.cost
		s.cost = g.clamp(s.level, s.want)
		g.inFlight += s.cost
		s.state = slotHolding
		g.totals.unaccepted--
		e.Decision = Accepted
	} else {
		g.unbookKey(s)
		s.state = slotPassing
		g.totals.rejected[reason]++
		e.Decision, e.Reason = reason.decision(), reason
	}
	if s.observed {
		g.deferred = append(g.deferred, deferredEvent{s.ctx, e})
	}
}
