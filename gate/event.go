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
	// Decision is zero unless Kind is EventDecision. Reason is that of the decision,
	// or of a release after [Lease.CutOff].
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
	// SelfWait marks a decision about a call that had to wait, or was rejected,
	// at a gate that its own context already holds. The usual cause is one gate
	// in front of a handler and again inside of it.
	SelfWait bool
	// Held is how long the lease has been held, in a release or max-hold
	// event.
	Held time.Duration
	// Rejection is what the caller got, in a decision that rejected it.
	Rejection *Rejection

	keyHasher *keyHasher

	// Of an admitted call, in the event of the decision; see Identified.
	slot   *slot
	serial uint64
	id     callID
}

// WaitedMs is Waited in whole milliseconds.
func (e Event) WaitedMs() int64 { return e.Waited.Milliseconds() }

// isTrouble reports whether the event is for [ObserveTrouble].
func (e *Event) isTrouble() bool {
	return e.Kind == EventMaxHold || e.Decision.Rejected() || e.Decision == Abandoned || e.Waited > 0
}

// numbers is what an event says about the gate at one moment.
type numbers struct {
	inFlight, limit int64
	waiting         int
	dryRun          bool
}

// numbersLocked returns the gate's numbers of this moment.
func (g *Gate) numbersLocked() numbers {
	return numbers{inFlight: g.inFlight + g.passing, limit: g.limit, waiting: g.queue.total, dryRun: g.dryRun}
}

// event begins an event about a call.
func (n numbers) event(g *Gate, kind EventKind, call *Call) Event {
	return Event{
		Kind: kind, Gate: g.name, Call: *call, DryRun: n.dryRun,
		InFlight: n.inFlight, Waiting: n.waiting, Limit: n.limit, keyHasher: g.set().keyHasher,
	}
}

// deferredEvent is an event that came up under the lock, about a call that another
// goroutine may be working on. ctx is the context of that call.
type deferredEvent struct {
	ctx   context.Context
	event Event
}

// unlock releases the lock, then tells the events that came up under it.
func (g *Gate) unlock() {
	deferred := g.deferred
	g.deferred = nil
	g.mu.Unlock()
	for i := range deferred {
		g.emit(deferred[i].ctx, &deferred[i].event)
	}
}
