package gate

import "context"

// RefuseEarly rejects the call if Acquire would do so at once: no unit is free
// and no more calls may wait, or the gate is draining, or the call's key or
// deadline leaves no room. The error is then a [*Rejection], which is counted and
// told to observers like one of Acquire. Otherwise it returns nil, and nothing is
// taken, counted or promised: Acquire has yet to be called, and may reject.
//
// It never waits, so it may be used where that is not possible, such as in the
// loop that reads a connection. At a gate in a dry run, or for a context that has
// ended, it returns nil.
func (g *Gate) RefuseEarly(ctx context.Context, call Call) error {
	_, err := g.refuseEarly(ctx, &call, ownWait)
	return err
}

// RefuseEarly is [Gate.RefuseEarly] for the gates of the call's route.
func (p *Policy) RefuseEarly(ctx context.Context, call Call) error {
	pl := p.lookup(call.Route)
	if pl.exempts() {
		return nil
	}
	pl.apply(&call)
	if pl.gate != nil {
		_, err := pl.gate.refuseEarly(ctx, &call, pl.wait())
		return err
	}
	return pl.chain.RefuseEarly(ctx, call)
}

// RefuseEarly is [Gate.RefuseEarly] for the first of the gates that would reject
// the call at once, if none before it would make the call wait: nobody knows what
// comes after a wait.
func (c *chain) RefuseEarly(ctx context.Context, call Call) error {
	budget := c.budget()
	for _, g := range c.gates {
		passes, err := g.refuseEarly(ctx, &call, wait{most: budget, terms: c.terms})
		if err != nil || !passes {
			return err
		}
	}
	return nil
}

// refuseEarly also reports whether the call would pass the gate at once.
func (g *Gate) refuseEarly(ctx context.Context, call *Call, w wait) (passes bool, err error) {
	if g.settings.Load() == nil {
		return false, errZeroGate
	}
	set := g.set()
	level, want, ownCap := call.Priority.level(), set.costOf(call), set.ownKeyLimit(call.Key)
	g.mu.Lock()
	v, _ := g.judgeByRoomLocked(call.Key, ownCap, level, want, w)
	passes = v == admitted || g.dryRun
	g.mu.Unlock()
	if passes {
		return true, nil
	}
	var a arrival
	a.ctx, a.level, a.want, a.ownCap, a.wait = ctx, level, want, ownCap, w
	return g.rejectEarly(call, &a)
}

// rejectEarly looks once more, now that it seems that the call does not pass, and
// rejects it if that is so.
func (g *Gate) rejectEarly(call *Call, a *arrival) (passes bool, err error) {
	// Other people's code runs without the lock.
	if a.ctx.Err() != nil || g.askDeadline(a) != nil {
		return false, nil
	}
	a.interest = g.interest(a.ctx)
	passes, rejects := g.looksEarly(call, a)
	if !rejects {
		return passes, nil
	}
	return false, g.reject(call, a)
}

// looksEarly reports whether the call would pass the gate now, and counts it as
// rejected if the gate would reject it.
func (g *Gate) looksEarly(call *Call, a *arrival) (passes, rejects bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	v, reason := g.judgeLocked(call, a)
	if v == admitted || g.dryRun {
		return true, false
	}
	if v != rejected {
		return false, false
	}
	a.observed = a.interest != ObserveNothing
	g.rejectLocked(a, reason)
	return false, true
}
