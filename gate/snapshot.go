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
	// WaitingBy is Waiting by priority; priorities that nobody waits with are
	// left out.
	WaitingBy  map[Priority]int `json:"waiting_by,omitempty"`
	MaxWaiting int              `json:"max_waiting"`
	MaxWait    time.Duration    `json:"max_wait_ns"`
	Draining   bool             `json:"draining"`
	DryRun     bool             `json:"dry_run"`
	// Totals count since the gate was made.
	Totals Totals `json:"totals"`
	// Keys is the number of keys with calls in flight or waiting, at a gate
	// with a limit by key.
	Keys int `json:"keys"`
	// Holders are the leases that are out, the oldest first.
	Holders []Holder `json:"holders"`
	// ObserverPanics counts the panics of observers that the gate caught.
	ObserverPanics uint64 `json:"observer_panics"`
}

// Totals counts decisions. In a dry run these are the ones that would have been
// made.
type Totals struct {
	Accepted        uint64            `json:"accepted"`
	RejectedBusy    uint64            `json:"rejected_busy"`
	RejectedTimeout uint64            `json:"rejected_timeout"`
	Abandoned       uint64            `json:"abandoned"`
	ByReason        map[Reason]uint64 `json:"by_reason"` // rejections; reasons that never came up are left out
}

// Holder is a lease that has not been released.
type Holder struct {
	Call Call `json:"-"`
	// Route, RequestID, RemoteIP and Key are those of the Call.
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
}

// totals are the counters behind [Totals], guarded by the gate's lock.
type totals struct {
	unaccepted uint64 // serials that were not given to accepted calls
	abandoned  uint64
	rejected   [reasons]uint64
}

// accepts is the number of accepted calls: each has a serial of its own, so that
// admission need not count them apart. The lock is held.
func (g *Gate) accepts() uint64 { return g.serial - g.totals.unaccepted }

func (t *totals) allRejected() (n uint64) {
	for _, r := range t.rejected {
		n += r
	}
	return n
}

func (g *Gate) exportTotals() Totals {
	out := Totals{Accepted: g.accepts(), Abandoned: g.totals.abandoned, ByReason: map[Reason]uint64{}}
	for r, n := range g.totals.rejected {
		if n == 0 {
			continue
		}
		out.ByReason[Reason(r)] = n
		if Reason(r).decision() == RejectedTimeout {
			out.RejectedTimeout += n
		} else {
			out.RejectedBusy += n
		}
	}
	return out
}

// heldBy is a holder together with what is needed to complete it without the
// gate's lock.
type heldBy struct {
	Holder
	serial uint64
	ctx    context.Context
}

// Snapshot describes the gate: its limit, who is in flight and since when, who
// waits, and the totals. It holds the gate's lock for as long as it takes to
// copy the holders, so it is for people and scrapers, not for every call.
func (g *Gate) Snapshot() Snapshot {
	now := g.now()
	g.mu.Lock()
	g.clocked.Store(true)
	g.setPlain()
	s := g.numbers()
	held := g.holders(now)
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

// holders copies the leases that are out. The lock is held.
func (g *Gate) holders(now int64) []heldBy {
	var held []heldBy
	for _, s := range g.slots {
		if s.serial == 0 {
			continue
		}
		if s.since == 0 {
			g.note(s, s.ctx, now, s.observed)
		}
		held = append(held, heldBy{
			Holder: Holder{
				Call: s.call, Key: s.call.Key, Priority: s.call.Priority, Cost: s.cost,
				Age: time.Duration(max(now-s.since, 0)), Passing: s.state != slotHolding,
			},
			serial: s.serial, ctx: s.ctx,
		})
	}
	return held
}

// watchHold sees to it that a scan for leases held too long runs within the
// given time. It does nothing without [WithMaxHold]. The lock is held.
func (g *Gate) watchHold(within time.Duration) {
	if g.config.maxHold == 0 || g.scanning {
		return
	}
	g.scanning = true
	if g.holdScan == nil {
		g.holdScan = time.AfterFunc(within, g.reportHolders)
	} else {
		g.holdScan.Reset(within)
	}
}

// reportHolders tells of each lease that has been held for too long, once, and
// comes back when the next one may be.
func (g *Gate) reportHolders() {
	now := g.now()
	g.mu.Lock()
	g.scanning = false
	next := time.Duration(-1)
	for _, s := range g.slots {
		if s.serial == 0 || s.reported || s.since == 0 {
			continue
		}
		held := time.Duration(now - s.since)
		if left := g.config.maxHold - held; left > 0 {
			if next < 0 || left < next {
				next = left
			}
			continue
		}
		s.reported = true
		e := g.event(EventMaxHold, &s.call)
		e.Waited, e.Held = s.waited, held
		g.deferred = append(g.deferred, deferredEvent{s.ctx, e})
	}
	if next >= 0 {
		g.watchHold(next)
	}
	g.unlock()
}
