package gate_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

// drain begins a Drain on a goroutine of its own, and returns where its error will be.
func drain(ctx context.Context, g *gate.Gate) <-chan error {
	done := make(chan error, 1)
	go func() { done <- g.Drain(ctx) }()
	synctest.Wait()
	return done
}

func wantDrained(t *testing.T, done <-chan error, want error) {
	t.Helper()
	synctest.Wait()
	select {
	case err := <-done:
		wantEqual(t, "Drain", err, want)
	default:
		t.Fatal("Drain has not ended")
	}
}

func wantDraining(t *testing.T, done <-chan error) {
	t.Helper()
	synctest.Wait()
	select {
	case err := <-done:
		t.Fatalf("Drain has ended with %v", err)
	default:
	}
}

func TestDrainRefusesNewcomersAndWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 2)
		holder := acquire(t, g, gate.Call{})
		waiters := []*attempt{start(t.Context(), g, gate.Call{Cost: 2}), start(t.Context(), g, gate.Call{Priority: gate.Low})}
		advance(10 * time.Millisecond)
		done := drain(t.Context(), g)
		for _, w := range waiters {
			r := w.refused(t, gate.ReasonDraining)
			wantEqual(t, "decision", r.Decision, gate.RejectedBusy)
			wantEqual(t, "refusal", r.Refusal, gate.ServiceUnavailable)
			wantEqual(t, "waited", r.Waited, 10*time.Millisecond)
		}
		newcomer := start(t.Context(), g, gate.Call{Priority: gate.Critical}).refused(t, gate.ReasonDraining)
		wantEqual(t, "refusal", newcomer.Refusal, gate.ServiceUnavailable)
		wantNow(t, g, 1, 0)
		wantDraining(t, done)
		holder.Release()
		wantDrained(t, done, nil)
		start(t.Context(), g, gate.Call{}).refused(t, gate.ReasonDraining)
		wantEqual(t, "draining", g.Snapshot().Draining, true)
	})
}

func TestDrainEndsWhenAllLeasesAreBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 3)
		leases := []gate.Lease{acquire(t, g, gate.Call{}), acquire(t, g, gate.Call{}), acquire(t, g, gate.Call{})}
		one, two := drain(t.Context(), g), drain(t.Context(), g)
		for _, lease := range leases {
			wantDraining(t, one)
			wantDraining(t, two)
			lease.Release()
		}
		wantDrained(t, one, nil)
		wantDrained(t, two, nil)
	})
}

func TestDrainOfAnEmptyGateEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 1)
		wantDrained(t, drain(t.Context(), g), nil)
		wantDrained(t, drain(t.Context(), g), nil) // again
	})
}

func TestDrainGivesUpWithItsContextAndStaysClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 1)
		lease := acquire(t, g, gate.Call{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		done := drain(ctx, g)
		advance(time.Second)
		wantDrained(t, done, context.DeadlineExceeded)
		start(t.Context(), g, gate.Call{}).refused(t, gate.ReasonDraining)
		again := drain(t.Context(), g)
		lease.Release()
		wantDrained(t, again, nil)
	})
}

func TestDrainIsNotUndoneByALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 1)
		wantDrained(t, drain(t.Context(), g), nil)
		if err := g.SetLimit(9); err != nil {
			t.Fatal(err)
		}
		start(t.Context(), g, gate.Call{}).refused(t, gate.ReasonDraining)
	})
}

func TestDrainOfADryRunOnlyReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 1, gate.WithDryRun())
		leases := []gate.Lease{acquire(t, g, gate.Call{}), acquire(t, g, gate.Call{})}
		done := drain(t.Context(), g)
		passed := acquire(t, g, gate.Call{})
		wantEqual(t, "decision", passed.Decision(), gate.RejectedBusy)
		wantEqual(t, "reason", passed.Reason(), gate.ReasonDraining)
		wantEqual(t, "refusals", g.Snapshot().Totals.ByReason[gate.ReasonDraining], 2)
		for _, lease := range append(leases, passed) {
			wantDraining(t, done)
			lease.Release()
		}
		wantDrained(t, done, nil)
	})
}

func TestDrainWaitsForAGrantThatIsOnItsWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 1)
		holder := acquire(t, g, gate.Call{})
		late := newLateErr(t.Context())
		waiter := start(late, g, gate.Call{})
		late.armed.Store(true)
		holder.Release()
		<-late.looking
		done := drain(t.Context(), g) // the waiter has been granted, so it is a holder
		wantDraining(t, done)
		close(late.answer)
		lease := waiter.admitted(t)
		wantDraining(t, done)
		lease.Release()
		wantDrained(t, done, nil)
	})
}
