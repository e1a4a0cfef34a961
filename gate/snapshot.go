package gate

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// Snapshot is the state of a gate at one moment.
type Snapshot struct {
	Name     string `json:"name"`
	Limit    int64  `json:"limit"`
	InFlight int64  `json:"in_flight"`
	Waiting  int    `json:"waiting"`
	// WaitingBy is Waiting by priority; priorities without a waiting call are
	// left out.
	WaitingBy  map[Priority]int `json:"waiting_by,omitempty"`
	MaxWaiting int              `json:"max_waiting"`
	MaxWait    time.Duration    `json:"max_wait_ns"`
	Draining   bool             `json:"draining"`
	DryRun     bool             `json:"dry_run"`
	// Totals count since the gate was made.
	Totals Totals `json:"totals"`
	// Keys is the number of keys with calls in flight or waiting, at a gate
	// with a limit by key. Calls without a key count as one key.
	Keys int `json:"keys"`
	// Holders are the leases that are out, the oldest first.
	Holders []Holder `json:"holders"`
	// ObserverPanics counts the panics of observers that the gate caught.
	ObserverPanics uint64 `json:"observer_panics"`
}

// Holder is a lease that has not been released.
type Holder struct {
	Call Call `json:"-"`
	// Route, RequestID, RemoteIP and Key are those of the Call. In JSON the key is
	// hashed; see [WithKeySecret].
	Route     string   `json:"route"`
	RequestID string   `json:"request_id"`
	RemoteIP  string   `json:"remote_ip"`
	Key       string   `json:"key,omitempty"`
	Priority  Priority `json:"priority"`
	Cost      int64    `json:"cost"` // units taken
	// Age is how long the lease has been held. A gate without observers and
	// without [WithMaxHold] does not read the clock for a call that is
	// admitted at once, until the first Snapshot is taken of it: the age of
	// what it had admitted before counts from that Snapshot, so it is too low.
	Age time.Duration `json:"age_ns"`
	// Passing marks a call that a dry run let through although the gate was
	// full.
	Passing bool `json:"passing,omitempty"`

	keyHasher *keyHasher
}

// heldBy is a holder together with what is needed to complete it without the
// gate's lock.
type heldBy struct {
	Holder
	serial uint64
	ctx    context.Context
}

// Snapshot describes the gate: its limit, what is in flight and since when, what
// waits, and the totals. It holds the gate's lock for as long as it takes to
// copy the holders, so it is for people and scrapers, not for every call.
func (g *Gate) Snapshot() Snapshot {
	now := g.now()
	g.mu.Lock()
	g.clocked.Store(true)
	g.setDutiesLocked()
	s := g.overviewLocked()
	held := g.holdersLocked(now)
	g.mu.Unlock()

	slices.SortFunc(held, func(a, b heldBy) int { return cmp.Compare(a.serial, b.serial) })
	s.Holders = make([]Holder, len(held))
	for i, h := range held {
		call := h.Call.Resolved(h.ctx)
		h.Call, h.Route, h.RequestID, h.RemoteIP = call, call.Route, call.RequestID, call.RemoteIP
		s.Holders[i] = h.Holder
	}
	return s
}

// holdersLocked copies the leases that are held.
func (g *Gate) holdersLocked(now int64) []heldBy {
	var held []heldBy
	for _, s := range g.slots {
		if s.serial == 0 {
			continue
		}
		if s.since == 0 {
			s.noted, s.since = true, now
		}
		held = append(held, heldBy{
			Holder: Holder{
				Call: s.known(), Key: s.call.Key, Priority: s.call.Priority, Cost: s.cost,
				Age: time.Duration(max(now-s.since, 0)), Passing: s.state != slotHolding,
				keyHasher: g.set().keyHasher,
			},
			serial: s.serial, ctx: s.ctx,
		})
	}
	return held
}
