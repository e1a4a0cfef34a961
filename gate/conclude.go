package gate

import "context"

// conclude brings the final verdict to the caller and to the observers. Whatever an
// observer does meanwhile, no unit is lost.
func (g *Gate) conclude(ctx context.Context, call *Call, a *arrival) (Lease, error) {
	done := false
	defer func() {
		if !done {
			g.giveUp(a)
		}
	}()
	switch a.verdict {
	case admitted:
		if a.observed {
			g.tellAccepted(ctx, call, a)
		}
	case passed:
		if a.observed {
			g.tellPassed(ctx, call, a)
		}
	case rejected:
		done = true
		return Lease{}, g.reject(ctx, call, a)
	case abandoned:
		done = true
		return Lease{}, g.abandon(ctx, call, a)
	case failed:
		done = true
		return Lease{}, a.err
	}
	done = true
	return a.lease, nil
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
	g.leaveLocked(a)
	g.totals.abandoned++
	g.unlock()
}

// tellAccepted and its likes are functions of their own because an Event is large:
// the stack of a call without observers need not grow for it.
func (g *Gate) tellAccepted(ctx context.Context, call *Call, a *arrival) {
	e := a.numbers.event(g, EventDecision, call)
	e.Decision, e.Waited, e.SelfWait = Accepted, a.waited, a.selfWait
	g.emit(ctx, &e)
}

func (g *Gate) tellPassed(ctx context.Context, call *Call, a *arrival) {
	e := a.numbers.event(g, EventDecision, call)
	e.Decision, e.Reason = a.reason.decision(), a.reason
	g.emit(ctx, &e)
}

func (g *Gate) tellRejected(ctx context.Context, call *Call, a *arrival, r *Rejection) {
	e := a.numbers.event(g, EventDecision, call)
	e.Decision, e.Reason, e.Rejection, e.Waited = r.Decision, r.Reason, r, a.waited
	e.Call.RequestID = r.RequestID
	e.DryRun = false // even if one has begun while the call waited
	e.SelfWait = a.selfWait || holds(ctx, g)
	g.emit(ctx, &e)
}

func (g *Gate) tellAbandoned(ctx context.Context, call *Call, a *arrival, n numbers) {
	e := n.event(g, EventDecision, call)
	e.Decision, e.Waited, e.SelfWait = Abandoned, a.waited, a.selfWait
	g.emit(ctx, &e)
}

// reject makes the error of a rejected call.
func (g *Gate) reject(ctx context.Context, call *Call, a *arrival) error {
	set := g.set()
	r := &Rejection{
		Gate:       g.name,
		Decision:   a.reason.decision(),
		Reason:     a.reason,
		Refusal:    set.refusal,
		Waited:     a.wait.spent + a.waited,
		InFlight:   a.numbers.inFlight,
		Limit:      a.numbers.limit,
		RetryDelay: set.drawDelay(a.reason, a.stretch),
		RequestID:  call.requestID(ctx),
	}
	if a.reason == ReasonDraining {
		r.Refusal = ServiceUnavailable
	}
	if r.RequestID == "" {
		r.RequestID = newRequestID()
	}
	if a.observed {
		g.tellRejected(ctx, call, a, r)
	}
	return r
}

// abandon counts a call whose context ended before it was admitted, and returns
// the context's error.
func (g *Gate) abandon(ctx context.Context, call *Call, a *arrival) error {
	g.mu.Lock()
	g.totals.abandoned++
	n := g.numbersLocked()
	g.mu.Unlock()
	if a.observed {
		g.tellAbandoned(ctx, call, a, n)
	}
	return a.err
}
