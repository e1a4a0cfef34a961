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

func TestDrainRejectsNewcomersAndServesWaitingCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 2)
		holder := acquire(t, g, gate.Call{})
		first, second := start(t.Context(), g, gate.Call{Cost: 2}), start(t.Context(), g, gate.Call{Priority: gate.Low})
		advance(10 * time.Millisecond)
		done := drain(t.Context(), g)
		newcomer := start(t.Context(), g, gate.Call{Priority: gate.Critical}).refused(t, gate.ReasonDraining)
		wantEqual(t, "decision", newcomer.Decision, gate.RejectedBusy)
		wantEqual(t, "refusal", newcomer.Refusal, gate.ServiceUnavailable)
		wantNow(t, g, 1, 2)
		holder.Release()
		lease := first.admitted(t)
		wantNow(t, g, 2, 1)
		wantDraining(t, done)
		advance(100 * time.Millisecond)
		second.refused(t, gate.ReasonWaitTimeout) // as ever
		wantDraining(t, done)
		lease.Release()
		wantDrained(t, done, nil)
		start(t.Context(), g, gate.Call{}).refused(t, gate.ReasonDraining)
		wantEqual(t, "draining", g.Snapshot().Draining, true)
	})
}

// TestDrainAwaitsCallsThatWait has a call wait at a gate whose only unit is reserved for others, so that nothing is in
// flight.
func TestDrainAwaitsCallsThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 2, gate.WithReserve(gate.Normal, 1))
		holder := acquire(t, g, gate.Call{Priority: gate.Low})
		waiter := start(t.Context(), g, gate.Call{Priority: gate.Low})
		done := drain(t.Context(), g)
		advance(100 * time.Millisecond)
		waiter.refused(t, gate.ReasonWaitTimeout)
		wantDraining(t, done)
		holder.Release()
		wantDrained(t, done, nil)
	})
}

func TestDrainingSendsClientsElsewhereAtOnce(t *testing.T) {
	for _, test := range []struct {
		opts      []gate.Option
		low, high time.Duration
	}{
		{nil, 0, gate.DefaultMaxDrainDelay},
		{[]gate.Option{gate.WithRetryDelay(time.Minute, time.Hour), gate.WithRetryDelayGrowth(2 * time.Hour)}, 0, gate.DefaultMaxDrainDelay},
		{[]gate.Option{gate.WithDrainDelay(time.Second, 2*time.Second)}, time.Second, 2 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := newGate(t, 1, test.opts...)
			wantDrained(t, drain(t.Context(), g), nil)
			lowest, highest := time.Duration(1<<62), time.Duration(0)
			for range 1000 {
				_, err := g.TryAcquire(gate.Call{})
				rejection := refused(t, err, gate.ReasonDraining)
				delay := rejection.RetryDelay
				wantEqual(t, "lower end", rejection.MinRetryDelay, test.low)
				lowest, highest = min(lowest, delay), max(highest, delay)
			}
			if spread := test.high - test.low; lowest < test.low || highest > test.high || lowest > test.low+spread/10 || highest < test.high-spread/10 {
				t.Errorf("delays from %s to %s, want them spread over %s to %s", lowest, highest, test.low, test.high)
			}
		})
	}
}

func TestReopenUndoesADrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 1)
		if err := g.Reopen(); err == nil {
			t.Error("a gate that does not drain was reopened")
		}
		holder := acquire(t, g, gate.Call{})
		done := drain(t.Context(), g)
		if err := g.Reopen(); err != nil {
			t.Fatal(err)
		}
		wantDrained(t, done, gate.ErrReopened)
		waiter := start(t.Context(), g, gate.Call{})
		holder.Release()
		waiter.admitted(t).Release()
		again := acquire(t, g, gate.Call{})
		done = drain(t.Context(), g)
		again.Release()
		wantDrained(t, done, nil)
		if err := g.Reopen(); err != nil {
			t.Fatal(err)
		}
		acquire(t, g, gate.Call{}).Release()
	})
}

// TestADrainThatIsReopenedAndBegunAgainEndsAsReopened has a drain begin before the call of the one before has woken.
func TestADrainThatIsReopenedAndBegunAgainEndsAsReopened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 1)
		lease := acquire(t, g, gate.Call{})
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		for range 20 {
			done := drain(t.Context(), g)
			if err := g.Reopen(); err != nil {
				t.Fatal(err)
			}
			wantEqual(t, "Drain with a context that has ended", g.Drain(ended), context.Canceled)
			wantDrained(t, done, gate.ErrReopened)
		}
		lease.Release()
	})
}

func TestHoldersLearnOfADrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		narrow, wide := newNamed(t, "narrow", 1), newNamed(t, "wide", 2)
		begun := func(draining <-chan struct{}) bool {
			select {
			case <-draining:
				return true
			default:
				return false
			}
		}
		before := acquire(t, gate.Chain(narrow, wide), gate.Call{})
		draining := before.Draining()
		wantEqual(t, "before the drain", begun(draining), false)
		done := drain(t.Context(), wide)
		wantEqual(t, "for who asked before", begun(draining), true)
		wantEqual(t, "for who asks now", begun(before.Draining()), true)
		wantEqual(t, "without a lease", begun(wide.Draining()), true)
		if err := wide.Reopen(); err != nil {
			t.Fatal(err)
		}
		wantDrained(t, done, gate.ErrReopened)
		wantEqual(t, "after it was reopened", begun(before.Draining()), false)
		before.Release()
		if (gate.Lease{}).Draining() != nil {
			t.Error("the zero Lease has a gate that may drain")
		}
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
		wantEqual(t, "rejections", g.Snapshot().Totals.ByReason[gate.ReasonDraining], 1)
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
