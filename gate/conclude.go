package gate

import "cmp"

// proceed goes on with a decision, after a wait if the call may wait. The steps run
// one after the other and not one inside of another: so the stack of a goroutine that
// waits stays within the 4 KiB that most calls need.
func (g *Gate) proceed(call *Call, a *arrival) (Lease, error) {
	if a.verdict == mayWait && g.queueUp(call, a) {
		g.park(call, a)
	}
	return g.conclude(call, a)
}

// conclude brings the final verdict to the caller and to the observers. Whatever an
// observer does meanwhile, no unit is lost.
func (g *Gate) conclude(call *Call, a *arrival) (Lease, error) {
	done := false
	defer func() {
		if !done {
			g.giveUp(a)
		}
	}()
	switch a.verdict {
	case admitted, passed:
		if a.observed {
			g.tellDecision(call, a, nil)
		}
	case rejected:
		a.err = g.reject(call, a)
	case abandoned:
		g.abandon(call, a)
	}
	done = true
	return a.lease, a.err
}

// giveUp gives back what the arrival has. Its goroutine has ended, or panics,
// before the caller got the lease.
func (g *Gate) giveUp(a *arrival) {
	if a.lease.slot != nil {
		a.lease.Release()
		return
	}
	if a.slot == nil {
		return
	}
	g.mu.Lock()
	a.receiveLocked()
	g.leaveLocked(a)
	g.totals.abandoned++
	g.unlock()
}

// reject makes the error of a rejected call, and tells the observers.
func (g *Gate) reject(call *Call, a *arrival) error {
	set := g.set()
	r := &Rejection{
		Gate:      g.name,
		Decision:  a.reason.decision(),
		Reason:    a.reason,
		Refusal:   a.wait.terms.refusalOf(set),
		Waited:    a.wait.spent + a.waited,
		InFlight:  a.numbers.inFlight,
		Limit:     a.numbers.limit,
		RequestID: call.requestID(a.ctx),
	}
	r.RetryDelay, r.MinRetryDelay = set.drawDelay(a.reason, a.stretch, a.wait.terms)
	r.roundedBy = drawRounding()
	if a.reason == ReasonDraining {
		r.Refusal = ServiceUnavailable
	}
	if r.RequestID == "" {
		r.RequestID = newRequestID()
	}
	if a.observed {
		g.tellDecision(call, a, r)
	}
	return r
}

// abandon counts a call whose context ended before it was admitted.
func (g *Gate) abandon(call *Call, a *arrival) {
	g.mu.Lock()
	g.totals.abandoned++
	a.numbers = g.numbersLocked()
	g.mu.Unlock()
	if a.observed {
		g.tellDecision(call, a, nil)
	}
}

// tellDecision is not inlined because an Event is large: the stack of a call that is
// not observed need not grow for it.
//
//go:noinline
func (g *Gate) tellDecision(call *Call, a *arrival, r *Rejection) {
	e := a.numbers.event(g, EventDecision, call)
	e.Waited, e.SelfWait = a.waited, a.selfWait
	switch a.verdict {
	case admitted:
		e.Decision, e.SelfWait = Accepted, a.selfWait && a.slot != nil // it waited
	case abandoned:
		e.Decision = Abandoned
	default:
		e.Decision, e.Reason, e.SelfWait = a.reason.decision(), a.reason, a.selfWait || holds(a.ctx, g)
	}
	if s := a.lease.slot; s != nil {
		e.slot, e.serial, e.id = s, a.lease.serial, cmp.Or(call.id, g.callID(a.lease.serial))
	}
	if r != nil {
		e.Rejection, e.Call.RequestID = r, r.RequestID
		e.DryRun = false // even if one has begun while the call waited
	}
	g.emit(a.ctx, &e)
}
