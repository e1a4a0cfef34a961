package gate

import "context"

// RefuseEarly refuses the call if Acquire would do so at once: no unit is free
// and nobody may wait any more, or the gate is draining, or the call's key or
// deadline leaves no room. The error is then a [*Rejection], which is counted and
// told to observers like one of Acquire. Otherwise it returns nil, and nothing is
// taken, counted or promised: Acquire has yet to be called, and may refuse.
//
// It never waits, so it may be used where that is not possible, such as in the
// loop that reads a connection. At a gate in a dry run, or for a context that has
// ended, it returns nil.
func (g *Gate) RefuseEarly(ctx context.Context, call Call) error {
	_, err := g.refuseEarly(ctx, &call, wait{budget: g.config.maxWait})
	return err
}

// RefuseEarly is [Gate.RefuseEarly] for the gates of the call's route.
func (p *Policy) RefuseEarly(ctx context.Context, call Call) error {
	pl := p.lookup(call.Route)
	if pl == nil || pl.admitter == nil {
		return nil
	}
	if pl.setPriority {
		call.Priority = pl.priority
	}
	if call.Cost <= 0 {
		call.Cost = pl.cost
	}
	if e, ok := pl.admitter.(interface {
		RefuseEarly(ctx context.Context, call Call) error
	}); ok {
		return e.RefuseEarly(ctx, call)
	}
	return nil
}

// RefuseEarly is [Gate.RefuseEarly] for the first of the gates that would refuse
// the call at once, if none before it would let the call wait: what comes after
// a wait cannot be known.
func (c *chain) RefuseEarly(ctx context.Context, call Call) error {
	for _, g := range c.gates {
		passes, err := g.refuseEarly(ctx, &call, wait{budget: min(g.config.maxWait, c.budget)})
		if err != nil || !passes {
			return err
		}
	}
	return nil
}

// refuseEarly also reports whether the call would pass the gate at once.
func (g *Gate) refuseEarly(ctx context.Context, call *Call, w wait) (passes bool, err error) {
	want := call.Cost
	if g.config.cost != nil {
		want = g.config.cost(*call)
	}
	a := arrival{call: call, level: call.Priority.level(), want: max(want, 1)}

	g.mu.Lock()
	v, _ := g.judge(&a, w)
	if v == admit || g.dryRun {
		g.mu.Unlock()
		return true, nil
	}
	g.mu.Unlock()

	// Without the lock, as a context and an observer may be anybody's code.
	if ctx.Err() != nil {
		return false, nil
	}
	w, short, err := g.bound(ctx, w)
	if err != nil {
		return false, nil
	}
	a.observed = g.observed(ctx)
	g.mu.Lock()
	v, reason := g.judge(&a, w)
	if v == queueUp && short != 0 {
		v, reason = refuse, short
	}
	if v != refuse || g.dryRun {
		passes = v == admit || g.dryRun
		g.mu.Unlock()
		return passes, nil
	}
	if !a.observed {
		a.observed = g.pressureObserved()
	}
	return false, g.refuse(ctx, &a, reason, 0, w.spent)
}
