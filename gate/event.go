package gate

import (
	"context"
	"time"
)

// EventKind says what an [Event] tells of.
type EventKind uint8

// The kinds of event.
const (
	// EventDecision: a call was accepted, rejected or abandoned.
	EventDecision EventKind = iota + 1
	// EventRelease: a lease was given back.
	EventRelease
	// EventMaxHold: a lease is held for longer than [WithMaxHold] allows. It
	// comes once for a lease.
	EventMaxHold
)

// String returns "decision", "release" or "max_hold".
func (k EventKind) String() string {
	switch k {
	case EventDecision:
		return "decision"
	case EventRelease:
		return "release"
	case EventMaxHold:
		return "max_hold"
	default:
		return ""
	}
}

// Event tells an observer what happened at a gate. The numbers are those of the
// moment of the decision or release, taken together.
type Event struct {
	Kind EventKind
	// Gate is the gate's name.
	Gate string
	Call Call
	// Decision and Reason are zero unless Kind is EventDecision.
	Decision Decision
	Reason   Reason
	// DryRun marks a decision that was not enforced; see [WithDryRun].
	DryRun bool
	// Waited is how long the call waited for the decision. A release repeats
	// it.
	Waited time.Duration
	// InFlight is the number of units in use, after what the event tells of;
	// Waiting is the number of waiting calls, Limit the limit.
	InFlight, Limit int64
	Waiting         int
	// Held is how long the lease has been held, in a release or max-hold
	// event.
	Held time.Duration
	// Rejection is what the caller was told, in a decision that refused it.
	Rejection *Rejection
}

// WaitedMs is Waited in whole milliseconds.
func (e Event) WaitedMs() int64 { return e.Waited.Milliseconds() }

// Observer is told what happens at a gate. It runs outside of the gate's lock
// and on the goroutine of the call, so it must be quick. A panic in it is
// caught and counted in [Snapshot.ObserverPanics]: no slot is lost over it.
//
// Its methods must be safe for concurrent use.
type Observer interface {
	// Enabled reports whether events are wanted now. A gate with no enabled
	// observer does not read the clock for a call that is admitted at once.
	Enabled(ctx context.Context) bool
	// OnEvent is told of one event. ctx is that of the call, also in a
	// release, where it may have ended long ago. Only RequestID and RemoteIP
	// may be missing in e.Call: see [Call.Resolved].
	OnEvent(ctx context.Context, e Event)
}

// onEvent is the Observer of [WithOnEvent].
type onEvent func(context.Context, Event)

func (onEvent) Enabled(context.Context) bool { return true }

func (f onEvent) OnEvent(ctx context.Context, e Event) {
	e.Call = e.Call.Resolved(ctx)
	f(ctx, e)
}

// Observe adds an observer to a gate that may already be in use. It reports
// false, and adds nothing, when the gate has an observer that reports itself to
// be the same by a method `Same(Observer) bool`: so that two hosts that share
// the gate do not count its calls twice.
func (g *Gate) Observe(o Observer) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	var observers []Observer
	if old := g.observers.Load(); old != nil {
		observers = append(observers, *old...)
	}
	for _, have := range observers {
		if same, ok := have.(interface{ Same(Observer) bool }); ok && same.Same(o) {
			return false
		}
	}
	observers = append(observers, o)
	g.observers.Store(&observers)
	g.setPlain()
	return true
}

// observed reports whether any observer wants to hear of a call now.
func (g *Gate) observed(ctx context.Context) bool {
	observers := g.observers.Load()
	if observers == nil {
		return false
	}
	for _, o := range *observers {
		if g.enabled(ctx, o) {
			return true
		}
	}
	return false
}

// enabled asks one observer, whose panics are caught as in tell.
func (g *Gate) enabled(ctx context.Context, o Observer) bool {
	defer g.catch()
	return o.Enabled(ctx)
}

// emit tells every enabled observer of e. The caller does not hold the lock.
//
// An Event is large. It goes by pointer as far as that keeps it on the stack: into
// the call of an interface it must go by value.
func (g *Gate) emit(ctx context.Context, e *Event) {
	observers := g.observers.Load()
	if observers == nil {
		return
	}
	for _, o := range *observers {
		g.tell(ctx, o, e)
	}
}

func (g *Gate) tell(ctx context.Context, o Observer, e *Event) {
	defer g.catch()
	if o.Enabled(ctx) || e.underPressure() && observesPressure(o) {
		o.OnEvent(ctx, *e)
	}
}

// catch is deferred where an observer's code runs.
func (g *Gate) catch() {
	if recover() != nil {
		g.observerPanics.Add(1)
	}
}
