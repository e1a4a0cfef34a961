package gate_test

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

func TestDryRunLetsEverybodyPassAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 1, gate.WithDryRun())
		began := time.Now()
		var leases []gate.Lease
		for want := range int64(5) {
			lease := acquire(t, g, gate.Call{})
			wantEqual(t, "in flight of the lease", lease.InFlight(), want+1)
			wantEqual(t, "dry run", lease.DryRun(), true)
			wantEqual(t, "gate", lease.Gate(), g)
			leases = append(leases, lease)
		}
		lease, err := g.TryAcquire(gate.Call{})
		if err != nil {
			t.Fatal(err)
		}
		leases = append(leases, lease)
		wantEqual(t, "time passed", time.Since(began), 0)
		wantEqual(t, "in flight", g.InFlight(), 6) // the true number
		for _, lease := range leases {
			lease.Release()
			lease.Release()
		}
		wantEqual(t, "in flight", g.InFlight(), 0)
	})
}

func TestDryRunDecidesAsTheGateWouldHave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told log
		g := newGate(t, 1, gate.WithDryRun(), gate.WithOnEvent(told.OnEvent))
		admitted := acquire(t, g, gate.Call{Route: "/admitted"})
		waits := acquire(t, g, gate.Call{Route: "/waits"})
		full := acquire(t, g, gate.Call{Route: "/full"})
		wantEqual(t, "decision, admitted", admitted.Decision(), gate.Accepted)
		wantEqual(t, "decision, would wait", waits.Decision(), gate.Accepted) // as far as it is known
		wantEqual(t, "decision, queue full", full.Decision(), gate.RejectedBusy)
		wantEqual(t, "reason, queue full", full.Reason(), gate.ReasonQueueFull)
		wantNow(t, g, 3, 1)
		s := g.Snapshot()
		wantEqual(t, "snapshot says so", s.DryRun, true)
		for i, passing := range []bool{false, true, true} {
			wantEqual(t, "passing", s.Holders[i].Passing, passing)
		}

		advance(30 * time.Millisecond)
		admitted.Release() // and now it would have been the turn of the one that waits
		wantNow(t, g, 2, 0)
		second := acquire(t, g, gate.Call{Route: "/second"})
		advance(100 * time.Millisecond)
		for _, lease := range []gate.Lease{waits, full, second} {
			lease.Release()
		}

		want := map[string]struct {
			decision gate.Decision
			reason   gate.Reason
			waited   time.Duration
		}{
			"/admitted": {gate.Accepted, 0, 0},
			"/waits":    {gate.Accepted, 0, 30 * time.Millisecond},
			"/full":     {gate.RejectedBusy, gate.ReasonQueueFull, 0},
			"/second":   {gate.RejectedTimeout, gate.ReasonWaitTimeout, 100 * time.Millisecond},
		}
		decisions := told.of(gate.EventDecision)
		wantEqual(t, "decisions", len(decisions), len(want))
		for _, e := range decisions {
			w := want[e.Call.Route]
			if e.Decision != w.decision || e.Reason != w.reason || e.Waited != w.waited || !e.DryRun || e.Rejection != nil {
				t.Errorf("%+v, want %+v", e, w)
			}
		}
		wantEqual(t, "releases", len(told.of(gate.EventRelease)), 4)
		totals := g.Snapshot().Totals
		wantEqual(t, "accepted", totals.Accepted, 2)
		wantEqual(t, "busy", totals.RejectedBusy, 1)
		wantEqual(t, "timed out", totals.RejectedTimeout, 1)
	})
}

func TestDryRunCountsACallThatIsDoneBeforeItsTurnAsAccepted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told log
		g := newGate(t, 1, gate.WithDryRun(), gate.WithOnEvent(told.OnEvent))
		holder := acquire(t, g, gate.Call{})
		waits := acquire(t, g, gate.Call{Route: "/waits"})
		advance(20 * time.Millisecond)
		waits.Release()
		wantNow(t, g, 1, 0)
		last := told.events[len(told.events)-2:]
		wantEqual(t, "first the decision", last[0].Decision, gate.Accepted)
		wantEqual(t, "after a wait", last[0].Waited, 20*time.Millisecond)
		wantEqual(t, "then the release", last[1].Kind, gate.EventRelease)
		holder.Release()
	})
}

func TestDryRunCanBeSwitchedAtRunTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 1)
		holder := acquire(t, g, gate.Call{})
		waiter := start(t.Context(), g, gate.Call{}) // before the dry run, so it waits all the same
		g.SetDryRun(true)
		wantEqual(t, "dry run", g.DryRun(), true)
		passed := acquire(t, g, gate.Call{})
		wantEqual(t, "reason", passed.Reason(), gate.ReasonQueueFull)
		wantNow(t, g, 2, 1)
		if !waiter.waits() {
			t.Fatal("a call that waited was let through")
		}
		g.SetDryRun(false)
		start(t.Context(), g, gate.Call{}).refused(t, gate.ReasonQueueFull)
		wantNow(t, g, 2, 1)
		holder.Release()
		lease := waiter.admitted(t) // the one that passed is beside the limit
		wantNow(t, g, 2, 0)
		passed.Release()
		lease.Release()
	})
}

// TestDryRunPlacesInTheQueueCountAfterIt has calls that really wait before and behind one that a dry run let through.
func TestDryRunPlacesInTheQueueCountAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 1, gate.WithMaxWaiting(3))
		holder := acquire(t, g, gate.Call{})
		before := start(t.Context(), g, gate.Call{})
		g.SetDryRun(true)
		shadow := acquire(t, g, gate.Call{})
		g.SetDryRun(false)
		behind := start(t.Context(), g, gate.Call{})
		wantNow(t, g, 2, 3)
		holder.Release()
		before.admitted(t).Release()
		wantNow(t, g, 1, 1) // the shadow has its turn, and its unit
		if !behind.waits() {
			t.Fatal("a call was admitted beside the limit")
		}
		shadow.Release()
		behind.admitted(t).Release()
	})
}

func TestWhoStandsBehindADryRunsPlaceIsServedWhenThatTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 2)
		holder := acquire(t, g, gate.Call{})
		g.SetDryRun(true)
		big := acquire(t, g, gate.Call{Cost: 2})
		g.SetDryRun(false)
		advance(40 * time.Millisecond)
		small := start(t.Context(), g, gate.Call{})
		advance(59 * time.Millisecond)
		wantEqual(t, "waits", small.waits(), true)
		advance(time.Millisecond)
		small.admitted(t).Release()
		big.Release()
		holder.Release()
	})
}

func TestARefusalAfterADryRunBeganIsNotMarkedAsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told log
		g := newGate(t, 1, gate.WithOnEvent(told.OnEvent))
		holder := acquire(t, g, gate.Call{})
		waiter := start(t.Context(), g, gate.Call{})
		g.SetDryRun(true)
		advance(gate.DefaultMaxWait)
		waiter.refused(t, gate.ReasonWaitTimeout)
		e := told.events[len(told.events)-1]
		wantEqual(t, "decision", e.Decision, gate.RejectedTimeout)
		wantEqual(t, "dry run", e.DryRun, false) // it was enforced
		holder.Release()
	})
}

func TestDryRunClampsCostsAndNeverOverflows(t *testing.T) {
	for _, limit := range []int64{10, gate.MaxLimit} {
		g := newGate(t, limit, gate.WithDryRun(), gate.WithMaxWait(0))
		var leases []gate.Lease
		for range 20 {
			lease := acquire(t, g, gate.Call{Cost: math.MaxInt64})
			leases = append(leases, lease)
			if lease.InFlight() < limit || lease.InFlight() != g.InFlight() {
				t.Fatalf("limit %d: %d in flight, the lease says %d", limit, g.InFlight(), lease.InFlight())
			}
		}
		if limit == 10 {
			wantEqual(t, "in flight", g.InFlight(), 200)
		}
		for _, lease := range leases {
			lease.Release()
		}
	}
}

func TestADryRunThatBeginsMeanwhileIsHeeded(t *testing.T) {
	g := newGate(t, 1, gate.WithMaxWait(0))
	holder := acquire(t, g, gate.Call{})
	ctx := stubContext{context.Background(), func() error {
		g.SetDryRun(true) // as the gate asks, with its verdict already made
		return nil
	}}
	if err := g.RefuseEarly(ctx, gate.Call{}); err != nil {
		t.Errorf("a gate in a dry run refused: %v", err)
	}
	holder.Release()
}

func TestDryRunNeverAbandonsWhomItLetPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 1, gate.WithDryRun())
		holder := acquire(t, g, gate.Call{})
		ctx, cancel := context.WithCancel(t.Context())
		passed, err := g.Acquire(ctx, gate.Call{})
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		advance(time.Second)
		wantNow(t, g, 2, 0)
		passed.Release()
		holder.Release()
		if _, err := g.Acquire(ctx, gate.Call{}); err != context.Canceled { //nolint:errorlint // exactly this one
			t.Errorf("an ended context in a dry run: %v", err)
		}
	})
}

// TestObserverThatEndsTheGoroutineOfAWaiterLeavesNothingOfIt has a call that takes the place of a dry run's in the queue,
// and must tell of that before it waits. It may have been admitted by then.
func TestObserverThatEndsTheGoroutineOfAWaiterLeavesNothingOfIt(t *testing.T) {
	for _, admitted := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var holder gate.Lease
			g := newGate(t, 1, gate.WithOnEvent(func(_ context.Context, e gate.Event) {
				if e.Reason != gate.ReasonQueueFull {
					return
				}
				if admitted {
					holder.Release()
				}
				goexit()
			}))
			holder = acquire(t, g, gate.Call{})
			g.SetDryRun(true)
			displaced := acquire(t, g, gate.Call{Priority: gate.Low})
			g.SetDryRun(false)
			waiter := start(t.Context(), g, gate.Call{Priority: gate.Critical})
			wantEqual(t, "waits", waiter.waits(), false)
			wantEqual(t, "returned", waiter.returned, false)
			wantEqual(t, "abandoned", g.Snapshot().Totals.Abandoned, 1)
			displaced.Release()
			holder.Release()
			wantNow(t, g, 0, 0)
			acquire(t, g, gate.Call{}).Release()
		})
	}
}
