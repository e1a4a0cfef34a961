package model

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/rpcgate/rpcgate/gate"
)

// compare finds where the gate is not as the reference says.
func (d *driver) compare() error {
	if d.wrong != nil {
		return d.wrong
	}
	if got, want := d.gate.InFlight(), d.ref.inFlight(); got != want {
		return fmt.Errorf("in flight: %d, want %d", got, want)
	}
	if got, want := d.gate.Waiting(), len(d.ref.all(waiting)); got != want {
		return fmt.Errorf("waiting: %d, want %d", got, want)
	}
	if got, want := d.gate.Limit(), d.ref.limit; got != want {
		return fmt.Errorf("limit: %d, want %d", got, want)
	}
	for _, w := range d.drains {
		want := error(nil)
		if w.reopened {
			want = gate.ErrReopened
		}
		if over := w.reopened || d.ref.emptied > w.emptied; w.ended != over || over && w.err != want {
			return fmt.Errorf("drain ended: %t (%v), want %t (%v)", w.ended, w.err, over, want)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range d.pairs {
		if err := d.comparePair(p); err != nil {
			return fmt.Errorf("call %d: %w", p.id, err)
		}
	}
	d.pairs = slices.DeleteFunc(d.pairs, func(p *pair) bool {
		if p.state == gone {
			p.cancel()
			delete(d.byID, p.id)
		}
		return p.state == gone
	})
	return nil
}

func (d *driver) comparePair(p *pair) error {
	if want := p.state != waiting || p.dry; p.returned() != want {
		return fmt.Errorf("returned from Acquire: %t, want %t", p.returned(), want)
	}
	if p.returned() && !p.judged {
		p.judged = true
		if err := d.compareResult(p); err != nil {
			return err
		}
	}
	if d.ref.observed {
		return d.compareEvents(p)
	}
	return nil
}

func (d *driver) compareResult(p *pair) error {
	leased := p.dry || p.decision == gate.Accepted
	switch {
	case leased && p.err != nil:
		return fmt.Errorf("error %w, want a lease", p.err)
	case !leased && p.err == nil:
		return fmt.Errorf("a lease, want %s (%s)", p.decision, p.reason)
	case leased:
		d.counts.Accepted++
		return d.compareLease(p)
	case p.decision == gate.Abandoned:
		d.counts.Abandoned++
		return differ("error", p.err, p.ctx.Err())
	}
	d.counts.Rejected++
	return d.compareRejection(p)
}

func (d *driver) compareLease(p *pair) error {
	if p.queued || p.dry || d.ref.observed || d.ref.maxHold > 0 || d.snapped {
		p.ageFrom = p.since
	}
	decision, waited := gate.Accepted, p.waited
	if p.dry {
		waited = 0
	}
	if p.state == passing {
		decision = p.decision
	}
	if !p.loose {
		if err := differ("in flight of the lease", p.lease.InFlight(), p.inFlight); err != nil {
			return err
		}
	}
	return cmp.Or(
		differ("waited of the lease", p.lease.Waited(), waited),
		differ("decision of the lease", p.lease.Decision(), decision),
		differ("reason of the lease", p.lease.Reason(), p.reason),
		differ("dry run of the lease", p.lease.DryRun(), p.marked),
		differ("gate of the lease", p.lease.Gate(), d.gate),
	)
}

func (d *driver) compareRejection(p *pair) error {
	var r *gate.Rejection
	if !errors.As(p.err, &r) {
		return fmt.Errorf("error %w, want a rejection", p.err)
	}
	id := cmp.Or(p.asked.RequestID, r.RequestID)
	if p.asked.Caller != nil {
		id = "asked"
	}
	refusal := gate.TooManyRequests
	if p.reason == gate.ReasonDraining {
		refusal = gate.ServiceUnavailable
	}
	if !d.ref.mayDelay(p.reason, r.RetryDelay) || r.RequestID == "" {
		return fmt.Errorf("rejection %+v: bad delay or no id", r)
	}
	if !p.loose {
		if err := differ("in flight of the rejection", r.InFlight, p.inFlight); err != nil {
			return err
		}
	}
	return cmp.Or(
		differ("gate of the rejection", r.Gate, d.gate.Name()),
		differ("decision of the rejection", r.Decision, p.decision),
		differ("reason of the rejection", r.Reason, p.reason),
		differ("refusal of the rejection", r.Refusal, refusal),
		differ("waited of the rejection", r.Waited, p.waited),
		differ("limit of the rejection", r.Limit, p.limit),
		differ("id of the rejection", r.RequestID, id),
		differ("is busy", errors.Is(p.err, gate.ErrBusy), p.decision == gate.RejectedBusy),
		differ("is timeout", errors.Is(p.err, gate.ErrTimeout), p.decision == gate.RejectedTimeout),
	)
}

// compareEvents checks that exactly what happened was told, once.
func (d *driver) compareEvents(p *pair) error {
	decided := p.decision != 0
	released := p.state == gone && (p.dry || p.decision == gate.Accepted)
	if err := cmp.Or(
		differ("decisions told", len(p.decisions), count(decided)),
		differ("releases told", len(p.releases), count(released)),
		d.compareHolds(p),
	); err != nil {
		return err
	}
	if decided {
		e := p.decisions[0]
		rejected := p.decision.Rejected() && !p.dry
		if err := cmp.Or(
			differ("decision told", e.Decision, p.decision),
			differ("reason told", e.Reason, p.reason),
			differ("waited told", e.Waited, p.waited),
			differ("rejection told", e.Rejection != nil, rejected),
			differ("dry run told", e.DryRun && p.decision != gate.Abandoned, p.marked),
		); err != nil {
			return err
		}
	}
	if released {
		e := p.releases[0]
		return cmp.Or(
			differ("held told", e.Held, p.held),
			differ("waited told at release", e.Waited, p.waited),
			differ("cut off told", e.Reason, p.cut),
		)
	}
	return nil
}

// compareHolds checks that a lease that is held too long is told of once.
func (d *driver) compareHolds(p *pair) error {
	leased := p.dry || p.decision == gate.Accepted
	held := d.ref.now - p.since
	if p.state == gone {
		held = p.held
	}
	if d.ref.maxHold == 0 || !leased {
		return differ("too long holds told", len(p.holds), 0)
	}
	if held == d.ref.maxHold && p.state == gone {
		return nil // released at that very instant: either is right
	}
	if err := differ("too long holds told", len(p.holds), count(held >= d.ref.maxHold)); err != nil || len(p.holds) == 0 {
		return err
	}
	return differ("held told as too long", p.holds[0].Held, d.ref.maxHold)
}

// opSnapshot compares all that a Snapshot says.
func (d *driver) opSnapshot(op) {
	d.say("snapshot")
	s := d.gate.Snapshot()
	d.snapped = true
	d.err = d.compareSnapshot(s)
}

func (d *driver) compareSnapshot(s gate.Snapshot) error {
	by := map[gate.Priority]int{}
	keys := map[string]bool{}
	for _, c := range d.ref.present {
		if c.state == waiting {
			by[c.level]++
		}
		if c.booked > 0 {
			keys[c.key] = true
		}
	}
	var busy, timeout uint64
	for reason, n := range d.ref.totals.rejected {
		if reason == gate.ReasonWaitTimeout {
			timeout += n
		} else {
			busy += n
		}
	}
	if !maps.Equal(s.Totals.CutOff, d.ref.totals.cutOff) {
		return fmt.Errorf("snapshot: cut off %v, want %v", s.Totals.CutOff, d.ref.totals.cutOff)
	}
	if !maps.Equal(s.WaitingBy, by) || !maps.Equal(s.Totals.ByReason, d.ref.totals.rejected) {
		return fmt.Errorf("snapshot: waiting by %v, want %v; by reason %v, want %v",
			s.WaitingBy, by, s.Totals.ByReason, d.ref.totals.rejected)
	}
	if err := cmp.Or(
		differ("keys", s.Keys, len(keys)),
		differ("max waiting", s.MaxWaiting, d.ref.queueCap()),
		differ("draining", s.Draining, d.ref.draining),
		differ("dry run", s.DryRun, d.ref.dryRun),
		differ("accepted", s.Totals.Accepted, d.ref.totals.accepted),
		differ("abandoned", s.Totals.Abandoned, d.ref.totals.abandoned),
		differ("busy", s.Totals.RejectedBusy, busy),
		differ("timed out", s.Totals.RejectedTimeout, timeout),
		differ("observer panics", s.ObserverPanics, d.panics),
	); err != nil {
		return err
	}
	return d.compareHolders(s.Holders)
}

func (d *driver) compareHolders(holders []gate.Holder) error {
	leases := d.open(true)
	slices.SortFunc(leases, func(a, b *pair) int { return cmp.Compare(a.serial, b.serial) })
	if len(leases) != len(holders) {
		return fmt.Errorf("holders: %d, want %d", len(holders), len(leases))
	}
	for i, p := range leases {
		if p.ageFrom < 0 {
			p.ageFrom = d.ref.now
		}
		id, ip := p.asked.RequestID, p.asked.RemoteIP
		if p.asked.Caller != nil {
			id, ip = caller{}.Identify(context.Background())
		}
		want := gate.Holder{
			Route: p.asked.Route, RequestID: id, RemoteIP: ip, Key: p.key, Priority: p.asked.Priority, Cost: p.cost,
			Age: d.ref.now - p.ageFrom, Passing: p.state != holding,
		}
		got := holders[i]
		got.Call = gate.Call{}
		if got != want {
			return fmt.Errorf("holder %d: %+v, want %+v", i, got, want)
		}
	}
	return nil
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// differ is an error if two things that should be the same are not.
func differ[T comparable](what string, got, want T) error {
	if got != want {
		return fmt.Errorf("%s: %v, want %v", what, got, want)
	}
	return nil
}
