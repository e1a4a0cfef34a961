package gate_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

func TestEqualsAreServedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 1, gate.WithMaxWaiting(5))
		lease := acquire(t, g, gate.Call{})
		var waiters []*attempt
		for range 5 {
			waiters = append(waiters, start(t.Context(), g, gate.Call{}))
		}
		for i, w := range waiters {
			lease.Release()
			lease = w.admitted(t)
			wantNow(t, g, 1, 4-i)
		}
		lease.Release()
	})
}

func TestAReleasedSlotIsHandedOnWithoutBarging(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 1)
		holder := acquire(t, g, gate.Call{})
		waiter := start(t.Context(), g, gate.Call{})
		holder.Release()
		// The waiter may not even have woken yet: the slot is its own all the same.
		_, err := g.TryAcquire(gate.Call{})
		refused(t, err, gate.ReasonLimit)
		waiter.admitted(t).Release()
	})
}

func TestNobodyPassesABigWaiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 3)
		holder := acquire(t, g, gate.Call{Cost: 2})
		big := start(t.Context(), g, gate.Call{Cost: 3})
		_, err := g.TryAcquire(gate.Call{})
		refused(t, err, gate.ReasonLimit)
		small := start(t.Context(), g, gate.Call{})
		if !small.waits() {
			t.Fatal("a small call went past a big one that waits")
		}
		holder.Release()
		big.admitted(t).Release()
		small.admitted(t).Release()
	})
}

func TestCancelledFrontWaiterWakesTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 2, gate.WithMaxWaiting(9))
		holder := acquire(t, g, gate.Call{})
		ctx, cancel := context.WithCancel(t.Context())
		front := start(ctx, g, gate.Call{Cost: 2})
		next := start(t.Context(), g, gate.Call{})
		third := start(t.Context(), g, gate.Call{})
		cancel()
		front.failed(t, context.Canceled)
		lease := next.admitted(t)
		wantNow(t, g, 2, 1)
		holder.Release()
		third.admitted(t).Release()
		lease.Release()
	})
}

func TestTimedOutFrontWaiterWakesTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 2)
		holder := acquire(t, g, gate.Call{})
		front := start(t.Context(), g, gate.Call{Cost: 2})
		advance(40 * time.Millisecond)
		next := start(t.Context(), g, gate.Call{})
		advance(60 * time.Millisecond)
		front.refused(t, gate.ReasonWaitTimeout)
		lease := next.admitted(t)
		wantEqual(t, "waited", lease.Waited(), 60*time.Millisecond)
		lease.Release()
		holder.Release()
	})
}

func TestWaitersLeaveFromAnywhereInTheQueue(t *testing.T) {
	for leaver := range 3 {
		synctest.Test(t, func(t *testing.T) {
			g := newGate(t, 1, gate.WithMaxWaiting(3))
			holder := acquire(t, g, gate.Call{})
			var waiters []*attempt
			var cancels []context.CancelFunc
			for range 3 {
				ctx, cancel := context.WithCancel(t.Context())
				cancels = append(cancels, cancel)
				waiters = append(waiters, start(ctx, g, gate.Call{}))
			}
			cancels[leaver]()
			waiters[leaver].failed(t, context.Canceled)
			wantNow(t, g, 1, 2)
			late := start(t.Context(), g, gate.Call{})
			waiters = append(append(waiters[:leaver:leaver], waiters[leaver+1:]...), late)
			holder.Release()
			for _, w := range waiters {
				w.admitted(t).Release()
			}
			for _, cancel := range cancels {
				cancel()
			}
		})
	}
}

func TestAtMostAsManyWaitAsTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 2)
		holders := []gate.Lease{acquire(t, g, gate.Call{}), acquire(t, g, gate.Call{})}
		waiters := []*attempt{start(t.Context(), g, gate.Call{}), start(t.Context(), g, gate.Call{})}
		began := time.Now()
		r := start(t.Context(), g, gate.Call{}).refused(t, gate.ReasonQueueFull)
		wantEqual(t, "decision", r.Decision, gate.RejectedBusy)
		wantEqual(t, "time passed", time.Since(began), 0)
		wantEqual(t, "waited", r.Waited, 0)

		if err := g.SetLimit(1); err != nil { // the queue keeps who is in it
			t.Fatal(err)
		}
		wantNow(t, g, 2, 2)
		start(t.Context(), g, gate.Call{}).refused(t, gate.ReasonQueueFull)
		for _, h := range holders {
			h.Release()
		}
		for _, w := range waiters {
			w.admitted(t).Release()
		}
	})
}

func TestMaxWaitingBoundsTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 5, gate.WithMaxWaiting(1))
		holder := acquire(t, g, gate.Call{Cost: 5})
		waiter := start(t.Context(), g, gate.Call{})
		start(t.Context(), g, gate.Call{}).refused(t, gate.ReasonQueueFull)
		holder.Release()
		waiter.admitted(t).Release()
	})
}

func TestWithoutAQueueTheLimitIsHard(t *testing.T) {
	for name, off := range map[string]gate.Option{"wait": gate.WithMaxWait(0), "queue": gate.WithMaxWaiting(0)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGate(t, 1, off)
				holder := acquire(t, g, gate.Call{})
				began := time.Now()
				r := start(t.Context(), g, gate.Call{}).refused(t, gate.ReasonLimit)
				wantEqual(t, "decision", r.Decision, gate.RejectedBusy)
				wantEqual(t, "time passed", time.Since(began), 0)
				holder.Release()
			})
		})
	}
}
