package gate_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

// early is what *Gate, *Policy and a chain have.
type early interface {
	gate.Admitter
	RefuseEarly(ctx context.Context, call gate.Call) error
}

func expired(t *testing.T, left time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), left)
	t.Cleanup(cancel)
	return ctx
}

// In each state of a gate RefuseEarly says what Acquire then does: refuse at once
// for the same reason, or anything else, about which it says nothing.
func TestRefuseEarlyRefusesWhatAcquireWouldRefuseAtOnce(t *testing.T) {
	forever := func(t *testing.T) context.Context { return t.Context() }
	for name, test := range map[string]struct {
		opts []gate.Option
		fill int // calls that hold, then wait
		call gate.Call
		ctx  func(t *testing.T) context.Context
		want gate.Reason // 0: none
	}{
		"free":                 {ctx: forever},
		"full, may wait":       {fill: 2, ctx: forever},
		"queue full":           {fill: 4, ctx: forever, want: gate.ReasonQueueFull},
		"queue full, critical": {fill: 4, call: gate.Call{Priority: gate.Critical}, ctx: forever},
		"no waiting":           {opts: []gate.Option{gate.WithMaxWait(0)}, fill: 2, ctx: forever, want: gate.ReasonLimit},
		"no queue":             {opts: []gate.Option{gate.WithMaxWaiting(0)}, fill: 2, ctx: forever, want: gate.ReasonLimit},
		"reserved": {opts: []gate.Option{gate.WithReserve(gate.Critical, 1), gate.WithMaxWait(0)}, fill: 1, ctx: forever,
			want: gate.ReasonLimit},
		"reserved, critical": {opts: []gate.Option{gate.WithReserve(gate.Critical, 1), gate.WithMaxWait(0)}, fill: 1,
			call: gate.Call{Priority: gate.Critical}, ctx: forever},
		"key":             {opts: []gate.Option{gate.WithKeyLimit(1)}, fill: 1, call: gate.Call{Key: "k"}, ctx: forever, want: gate.ReasonKeyLimit},
		"another key":     {opts: []gate.Option{gate.WithKeyLimit(1)}, fill: 1, call: gate.Call{Key: "other"}, ctx: forever},
		"cost above room": {fill: 1, opts: []gate.Option{gate.WithMaxWait(0)}, call: gate.Call{Cost: 2}, ctx: forever, want: gate.ReasonLimit},
		"cost by function": {fill: 1, opts: []gate.Option{gate.WithMaxWait(0), gate.WithCost(func(c gate.Call) int64 { return c.Size })},
			call: gate.Call{Size: 2}, ctx: forever, want: gate.ReasonLimit},
		"deadline leaves no room": {fill: 2, ctx: func(t *testing.T) context.Context { return expired(t, time.Millisecond) },
			want: gate.ReasonDeadline},
		"deadline, but free":       {ctx: func(t *testing.T) context.Context { return expired(t, time.Millisecond) }},
		"caller gone":              {fill: 4, ctx: func(t *testing.T) context.Context { return expired(t, -1) }},
		"dry run":                  {opts: []gate.Option{gate.WithDryRun()}, fill: 4, ctx: forever},
		"deadline share is enough": {fill: 2, ctx: func(t *testing.T) context.Context { return expired(t, time.Second) }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGate(t, 2, test.opts...)
				var inside []*attempt
				for range test.fill {
					inside = append(inside, start(t.Context(), g, gate.Call{Key: "k"}))
				}
				ctx, before := test.ctx(t), g.Snapshot()
				err := g.RefuseEarly(ctx, test.call)
				after := g.Snapshot()
				wantEqual(t, "in flight", after.InFlight, before.InFlight)
				wantEqual(t, "waiting", after.Waiting, before.Waiting)
				rejections := uint64(0)
				if test.want != 0 {
					refused(t, err, test.want)
					rejections = 1
				} else if err != nil {
					t.Errorf("refused with %v", err)
				}
				wantEqual(t, "rejections counted", after.Totals.RejectedBusy-before.Totals.RejectedBusy, rejections)
				wantEqual(t, "abandoned", after.Totals.Abandoned, before.Totals.Abandoned)

				probe := start(ctx, g, test.call)
				if test.want != 0 {
					probe.refused(t, test.want)
				}
				g.Drain(expired(t, -1)) // ends all waits
				for _, p := range append(inside, probe) {
					if !p.waits() {
						p.lease.Release()
					}
				}
			})
		})
	}
}

func TestRefuseEarlyWhileDrainingIsUnavailable(t *testing.T) {
	g := newGate(t, 1)
	if err := g.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := refused(t, g.RefuseEarly(t.Context(), gate.Call{}), gate.ReasonDraining)
	wantEqual(t, "refusal", r.Refusal, gate.ServiceUnavailable)
}

func TestRefuseEarlyIsToldToObservers(t *testing.T) {
	var events []gate.Event
	g := newGate(t, 1, gate.WithMaxWait(0), gate.WithOnEvent(func(_ context.Context, e gate.Event) { events = append(events, e) }))
	lease := acquire(t, g, gate.Call{})
	if err := g.RefuseEarly(t.Context(), gate.Call{Route: "/a.B/C", RequestID: "req-7"}); err == nil {
		t.Fatal("not refused")
	}
	wantEqual(t, "events", len(events), 2)
	e := events[1]
	wantEqual(t, "decision", e.Decision, gate.RejectedBusy)
	wantEqual(t, "reason", e.Reason, gate.ReasonLimit)
	wantEqual(t, "request id", e.Rejection.RequestID, "req-7")
	lease.Release()
	if err := g.RefuseEarly(t.Context(), gate.Call{}); err != nil {
		t.Error(err)
	}
	wantEqual(t, "events", len(events), 3) // the release: what is not refused is not told
}

// What a call would have to wait for at the first gate may have changed when it
// comes to the second.
func TestRefuseEarlyOfAChainSaysNothingBeyondAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		narrow := newNamed(t, "narrow", 1)
		wide := newNamed(t, "wide", 2, gate.WithMaxWait(0))
		chain, ok := gate.Chain(wide, narrow).(early)
		if !ok {
			t.Fatal("a chain has no RefuseEarly")
		}
		policy, err := gate.NewPolicy(gate.Route("/a.B/*", wide, narrow).Cost(2), gate.Route("/a.C/*", wide))
		if err != nil {
			t.Fatal(err)
		}
		if err := chain.RefuseEarly(t.Context(), gate.Call{}); err != nil {
			t.Error(err)
		}
		one := acquire(t, wide, gate.Call{})
		if err := chain.RefuseEarly(t.Context(), gate.Call{}); err != nil {
			t.Error(err)
		}
		r := refused(t, policy.RefuseEarly(t.Context(), gate.Call{Route: "/a.B/C"}), gate.ReasonLimit)
		wantEqual(t, "gate", r.Gate, "wide")
		if err := policy.RefuseEarly(t.Context(), gate.Call{Route: "/a.C/C"}); err != nil {
			t.Error(err)
		}
		if err := policy.RefuseEarly(t.Context(), gate.Call{Route: "/exempt/C"}); err != nil {
			t.Error(err)
		}
		holder := acquire(t, narrow, gate.Call{})
		two := acquire(t, wide, gate.Call{})
		if err := chain.RefuseEarly(t.Context(), gate.Call{}); err != nil {
			t.Errorf("the call would wait at the narrow gate first, got %v", err)
		}
		waiter := start(t.Context(), narrow, gate.Call{})
		r = refused(t, chain.RefuseEarly(t.Context(), gate.Call{}), gate.ReasonQueueFull)
		wantEqual(t, "gate", r.Gate, "narrow")
		holder.Release()
		waiter.admitted(t).Release()
		one.Release()
		two.Release()
	})
}

func TestRefuseEarlyOfAPolicyKnowsThePriorityOfTheRoute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 1)
		policy, err := gate.NewPolicy(gate.Route("/a.B/*", g), gate.Route("/a.B/Urgent", g).Priority(gate.Critical))
		if err != nil {
			t.Fatal(err)
		}
		holder := acquire(t, g, gate.Call{})
		waiter := start(t.Context(), g, gate.Call{})
		refused(t, policy.RefuseEarly(t.Context(), gate.Call{Route: "/a.B/C"}), gate.ReasonQueueFull)
		if err := policy.RefuseEarly(t.Context(), gate.Call{Route: "/a.B/Urgent"}); err != nil {
			t.Errorf("the call would take the waiter's place, got %v", err)
		}
		holder.Release()
		waiter.admitted(t).Release()
	})
}
