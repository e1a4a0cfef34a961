package gate

import (
	"context"
	"reflect"
	"slices"
)

// Enter is [AcquireCall] for a host, which may be further in than another one.
//
// It takes only the gates that ctx does not hold already. If a host further out has
// admitted a call, and its lease is still held and covers all the gates of this
// call's route, Enter returns the zero Lease: the call passes. If the lease covers
// some of them, Enter takes the others. It does not wait for a gate that is narrower
// than one that is held, since the calls in front there might wait for that one: it
// rejects the call if there is no room.
//
// An Admitter that is none of this package's decides by itself, unless it has admitted
// a call of the same route further out, or the gates of what it wraps are all held; see
// [Wrapper].
func Enter(ctx context.Context, a Admitter, call *Call) (Lease, error) {
	outer := admission(ctx)
	if outer == nil {
		return AcquireCall(ctx, a, call)
	}
	return enterWithin(ctx, outer, a, call)
}

// AcquireCall is Acquire for authors of hosts. It takes the call by pointer, and sets
// what a [Policy] says about it; the call must not change until AcquireCall has
// returned.
func AcquireCall(ctx context.Context, a Admitter, call *Call) (Lease, error) {
	// What is known is called directly: a pointer that goes to an interface would
	// move the call to the heap.
	switch a := a.(type) {
	case *Gate:
		return a.acquire(ctx, call, ownWait)
	case *Policy:
		pl := a.lookup(call.Route)
		if pl.exempts() {
			return Lease{}, nil
		}
		pl.apply(call)
		return pl.acquire(ctx, call)
	case *chain:
		return a.acquire(ctx, call)
	default:
		return a.Acquire(ctx, *call)
	}
}

// enterWithin is Enter for a call in a context that carries a lease.
//
//go:noinline
func enterWithin(ctx context.Context, outer *leaseContext, a Admitter, call *Call) (Lease, error) {
	if Covers(ctx, a, call.Route) {
		return Lease{}, nil
	}
	needed, own := gatesOf(a, call.Route)
	switch {
	case !own:
		return a.Acquire(ctx, *call)
	case len(needed) == 0: // an exempt route, which need not have a rule
		return Lease{}, nil
	}
	w := ownWait
	if p, ok := a.(*Policy); ok {
		pl := p.lookup(call.Route)
		pl.apply(call)
		w.terms = pl.terms
	}
	missing := slices.DeleteFunc(slices.Clone(needed), func(g *Gate) bool { return holds(ctx, g) })
	beside := widestHeld(outer)
	switch {
	case beside == rank{} || len(missing) == 0: // what was held has been released
		return AcquireCall(ctx, a, call)
	case len(missing) > 1:
		return (&chain{gates: missing, beside: beside, terms: w.terms}).acquire(ctx, call)
	case missing[0].rank.compare(beside) < 0:
		return missing[0].acquire(ctx, call, wait{terms: w.terms})
	default:
		return missing[0].acquire(ctx, call, w)
	}
}

// Covers reports whether a call of the route passes a host for a, because ctx belongs
// to a call that was admitted further out: its lease is still held and covers the
// gates of the route, or the messages of its stream are admitted one by one
// ([HoldMessage]). It is for authors of hosts.
func Covers(ctx context.Context, a Admitter, route string) bool {
	outer := admission(ctx)
	if outer == nil {
		return false
	}
	needed, _ := gatesOf(a, route)
	for c := outer; c != nil; c = admission(c.Context) {
		if c.route != route || !same(c.by, a) {
			continue
		}
		if c.message != nil {
			return true
		}
		if needed == nil && c.lease.held() {
			return true // nothing is known of the gates but that a has admitted the call
		}
	}
	if len(needed) == 0 {
		return false
	}
	for _, g := range needed {
		if !holds(ctx, g) {
			return false
		}
	}
	return true
}

// gatesOf returns the gates that calls of a route go through at a, or at what a wraps,
// none for exempt routes, and nil if that is not known. own says that a itself is of
// this package.
func gatesOf(a Admitter, route string) (gates []*Gate, own bool) {
	for own = true; a != nil; own = false {
		switch a := a.(type) {
		case *Gate:
			return []*Gate{a}, own
		case *chain:
			return a.gates, own
		case *Policy:
			if pl := a.lookup(route); !pl.exempts() {
				return pl.gates(), own
			}
			return []*Gate{}, own
		}
		w, ok := a.(Wrapper)
		if !ok {
			break
		}
		a = w.Unwrap()
	}
	return nil, false
}

// holds reports whether ctx carries a lease on g that is still held.
func holds(ctx context.Context, g *Gate) bool {
	found := false
	for c := admission(ctx); c != nil && !found; c = admission(c.Context) {
		c.current().gates(func(held *Gate) bool {
			found = held == g
			return !found
		})
	}
	return found
}

// widestHeld returns the highest rank of the gates that are held, or the zero rank.
func widestHeld(outer *leaseContext) (widest rank) {
	for c := outer; c != nil; c = admission(c.Context) {
		c.current().gates(func(held *Gate) bool {
			if held.rank.compare(widest) > 0 {
				widest = held.rank
			}
			return true
		})
	}
	return widest
}

// held reports whether the lease has not been released.
func (l Lease) held() (held bool) {
	l.gates(func(*Gate) bool { held = true; return false })
	return held
}

// same reports whether a and b are one Admitter. Two of a type that cannot be compared
// are not.
func same(a, b Admitter) bool {
	return reflect.TypeOf(a) == reflect.TypeOf(b) && a != nil && reflect.ValueOf(a).Comparable() && a == b
}
