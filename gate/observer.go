package gate

import (
	"context"
	"slices"
)

// Interest says which events an [Observer] wants.
type Interest uint8

// The interests, each of which includes the ones above it. ObserveFixed may be
// added to any of them, as in ObserveTrouble|ObserveFixed.
const (
	// ObserveNothing: no events.
	ObserveNothing Interest = iota
	// ObserveTrouble: the events of calls that were rejected or had to wait,
	// whatever came of it, and of leases that are held too long. A call whose
	// context had ended before it came is not among them. Calls that are
	// admitted at once pay nothing for this interest.
	ObserveTrouble
	// ObserveAll: all events. The gate then reads the clock for every call.
	ObserveAll

	// ObserveFixed says that the interest never changes. The gate then asks
	// once, when the observer is added, and not for every call.
	ObserveFixed Interest = 1 << 7
)

// level is the interest without ObserveFixed.
func (i Interest) level() Interest { return min(i&^ObserveFixed, ObserveAll) }

// Observer hears what happens at a gate. It runs outside of the gate's lock and
// on the goroutine of the call, so it must be quick. The gate recovers from a
// panic in it and counts that in [Snapshot.ObserverPanics]; no slot is lost.
//
// Its methods must be safe for concurrent use.
type Observer interface {
	// Interest says which events are wanted now. A gate asks before it
	// decides about a call and before it tells of an event.
	Interest(ctx context.Context) Interest
	// OnEvent receives one event. ctx is the context of the call, also for a
	// release, where it may have ended long ago. Only RequestID and RemoteIP
	// may be missing in e.Call: see [Call.Resolved].
	OnEvent(ctx context.Context, e Event)
}

// onEvent is the Observer of [WithOnEvent].
type onEvent func(context.Context, Event)

func (onEvent) Interest(context.Context) Interest { return ObserveAll | ObserveFixed }

func (f onEvent) OnEvent(ctx context.Context, e Event) {
	e.Call = e.Call.Resolved(ctx)
	f(ctx, e)
}

// registered is an observer as a gate keeps it.
type registered struct {
	Observer
	interest Interest // has ObserveFixed, or must be asked for
}

// Observe adds an observer to a gate that may already be in use.
//
// If the gate has the same observer already (see [UniqueObserver]), it adds
// nothing and returns that one and false, so that two hosts that share the gate
// do not count its calls twice. Otherwise it returns o and true.
func (g *Gate) Observe(o Observer) (present Observer, added bool) {
	kept := registered{Observer: o, interest: g.ask(context.Background(), o)}
	g.mu.Lock()
	defer g.mu.Unlock()
	var observers []registered
	if old := g.observers.Load(); old != nil {
		observers = *old
	}
	for _, have := range observers {
		if unique, ok := have.Observer.(UniqueObserver); ok && unique.Same(o) {
			return have.Observer, false
		}
	}
	observers = append(slices.Clip(observers), kept)
	g.observers.Store(&observers)
	g.setDutiesLocked()
	return o, true
}

// ask returns an observer's interest. A panic is caught as in tell.
func (g *Gate) ask(ctx context.Context, o Observer) Interest {
	defer g.catch()
	return o.Interest(ctx)
}

// interest returns the greatest interest of all observers.
func (g *Gate) interest(ctx context.Context) Interest {
	duties := g.duties.Load()
	interest := Interest(duties & dutyInterest)
	if duties&dutyAsk != 0 {
		interest = max(interest, g.askAll(ctx))
	}
	return interest
}

// askAll returns the greatest interest of the observers that must be asked.
func (g *Gate) askAll(ctx context.Context) Interest {
	most := ObserveNothing
	observers := g.observers.Load()
	if observers == nil {
		return most
	}
	for i := range *observers {
		if o := &(*observers)[i]; o.interest&ObserveFixed == 0 {
			most = max(most, g.ask(ctx, o.Observer).level())
		}
	}
	return most
}

// emit tells the observers of e that are interested. The caller does not hold the
// lock.
//
// An Event is large. It goes by pointer as far as that keeps it on the stack: into
// the call of an interface it must go by value.
func (g *Gate) emit(ctx context.Context, e *Event) {
	observers := g.observers.Load()
	if observers == nil {
		return
	}
	for i := range *observers {
		g.tell(ctx, &(*observers)[i], e)
	}
}

func (g *Gate) tell(ctx context.Context, o *registered, e *Event) {
	defer g.catch()
	interest := o.interest
	if interest&ObserveFixed == 0 {
		interest = o.Interest(ctx)
	}
	if level := interest.level(); level == ObserveAll || level == ObserveTrouble && e.isTrouble() {
		o.OnEvent(ctx, *e)
	}
}

// catch is deferred where an observer's code runs.
func (g *Gate) catch() {
	if recover() != nil {
		g.observerPanics.Add(1)
	}
}
