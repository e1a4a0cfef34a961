package gate

import (
	"context"
	"math"
	"time"
)

// Acquire admits the call, lets it wait, or rejects it. A call without a Route is the
// call that ctx belongs to, if a host has admitted that one: the gate takes from
// there what the Call leaves empty.
//
// The error is a [*Rejection] when the call is rejected, and ctx's own error when
// ctx has ended or ends during the wait; then nothing is held. Otherwise the lease
// must be released. It covers the call until then: ctx no longer affects it.
func (g *Gate) Acquire(ctx context.Context, call Call) (Lease, error) {
	return g.acquire(ctx, &call, ownWait)
}

// TryAcquire is an Acquire that never waits and does not look at a context.
func (g *Gate) TryAcquire(call Call) (Lease, error) {
	return g.acquire(context.Background(), &call, wait{})
}

// Do acquires, runs f and releases, also if f panics or ends its goroutine. It
// returns what f returns, or the error of [Gate.Acquire] without running f. The
// context of f carries the lease; see [LeaseFromContext].
//
// Inside of a handler, which a host has called, an empty Call is enough: the gate
// knows the client's call from ctx.
func (g *Gate) Do(ctx context.Context, call Call, f func(context.Context) error) error {
	lease, err := g.acquire(ctx, &call, ownWait)
	if err != nil {
		return err
	}
	defer lease.Release()
	return f(NewContext(ctx, lease, g, &call))
}

// wait is how long a call may wait at a gate.
type wait struct {
	most  time.Duration // besides the gate's own maximum: what is left of a chain's, 0 for TryAcquire
	spent time.Duration // at the gates before this one in a chain
	terms *terms        // of the route's rule, or nil
}

// ownWait is bounded by nothing but the gate's own maximum.
var ownWait = wait{most: math.MaxInt64}

// acquire is the way into the gate for every call. Most calls find room, and no
// observer wants to hear of them: these take the fast path, which is all written
// out here. The other ones are decided under the same lock, in decideLocked, and go
// on in proceed.
func (g *Gate) acquire(ctx context.Context, call *Call, w wait) (Lease, error) {
	duties := g.duties.Load()
	interest := Interest(duties & dutyInterest)
	if duties&dutyAsk != 0 {
		interest = max(interest, g.askAll(ctx))
	}
	if interest == ObserveAll || duties&dutySlow != 0 || ctx.Err() != nil {
		return g.acquireWatched(ctx, call, w, interest)
	}
	if call.Route == "" {
		call.inherit(ctx)
	}
	want, level := max(call.Cost, 1), call.Priority.level()

	g.mu.Lock()
	if s := g.free; s != nil && g.queue.total == 0 && want <= g.fastRoom[level]-g.inFlight {
		g.free = s.next
		g.spare--
		g.serial++
		g.inFlight += want
		lease := Lease{slot: s, serial: g.serial, inFlight: g.inFlight + g.passing, outcome: accepted}
		s.serial = g.serial
		s.state = slotHolding
		s.cost = want
		s.call = *call
		s.ctx = ctx
		g.mu.Unlock()
		return lease, nil
	}
	var a arrival // a composite literal would be made apart and copied
	a.ctx, a.level, a.want, a.wait, a.interest = ctx, level, want, w, interest
	g.decideLocked(call, &a)
	g.mu.Unlock()
	return g.proceed(call, &a)
}

// acquireWatched is acquire for a call of which an observer wants to hear in any
// case, or about which there is more to find out than whether there is room.
func (g *Gate) acquireWatched(ctx context.Context, call *Call, w wait, interest Interest) (Lease, error) {
	call.inherit(ctx)
	var a arrival
	a.ctx, a.level, a.wait, a.interest = ctx, call.Priority.level(), w, interest
	if a.err = ctx.Err(); a.err != nil {
		a.verdict, a.observed = abandoned, interest == ObserveAll
		return g.proceed(call, &a)
	}
	set := g.set()
	a.want, a.ownCap = set.costOf(call), set.ownKeyLimit(call.Key)
	switch {
	case set.maxHold > 0:
		a.now = g.moment() // of which a timer may be made
	case interest == ObserveAll || g.clocked.Load():
		a.now.at = g.now()
	}
	g.mu.Lock()
	g.decideLocked(call, &a)
	g.mu.Unlock()
	return g.proceed(call, &a)
}
