package gate_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

func TestInFlightNeverExceedsTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 3, gate.WithMaxWaiting(100))
		var mu sync.Mutex
		var inside, most, done int
		for range 50 {
			go func() {
				lease, err := g.Acquire(context.Background(), gate.Call{})
				if err != nil {
					return
				}
				defer lease.Release()
				mu.Lock()
				inside++
				most = max(most, inside)
				mu.Unlock()
				<-time.After(10 * time.Millisecond)
				mu.Lock()
				inside--
				done++
				mu.Unlock()
			}()
		}
		synctest.Wait()
		wantNow(t, g, 3, 47)
		advance(time.Second)
		wantEqual(t, "most inside at once", most, 3)
		// 100 ms of waiting are ten turns of three, and the first three.
		wantEqual(t, "calls served", done >= 30 && done <= 33, true)
	})
}

func TestRaisingTheLimitWakesWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 1, gate.WithMaxWaiting(9))
		holder := acquire(t, g, gate.Call{})
		first, second, third := start(t.Context(), g, gate.Call{}), start(t.Context(), g, gate.Call{}), start(t.Context(), g, gate.Call{})
		if err := g.SetLimit(3); err != nil {
			t.Fatal(err)
		}
		defer first.admitted(t).Release()
		defer second.admitted(t).Release()
		wantEqual(t, "limit", g.Limit(), 3)
		wantNow(t, g, 3, 1)
		holder.Release()
		third.admitted(t).Release()
	})
}

func TestLoweringTheLimitKeepsHolders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 3)
		holders := []gate.Lease{acquire(t, g, gate.Call{}), acquire(t, g, gate.Call{}), acquire(t, g, gate.Call{})}
		if err := g.SetLimit(1); err != nil {
			t.Fatal(err)
		}
		wantNow(t, g, 3, 0)
		waiter := start(t.Context(), g, gate.Call{})
		holders[0].Release()
		holders[1].Release()
		if !waiter.waits() {
			t.Fatal("a call was admitted with the limit of 1 in flight")
		}
		holders[2].Release()
		waiter.admitted(t).Release()
	})
}

func TestALowerLimitClampsWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 10)
		holder := acquire(t, g, gate.Call{})
		big := start(t.Context(), g, gate.Call{Cost: 10})
		if err := g.SetLimit(2); err != nil {
			t.Fatal(err)
		}
		holder.Release()
		lease := big.admitted(t)
		wantNow(t, g, 2, 0)
		lease.Release()
	})
}

func TestBadLimitIsAnErrorAndChangesNothing(t *testing.T) {
	g := newGate(t, 5)
	for _, n := range []int64{0, -1, gate.MaxLimit + 1} {
		err := g.SetLimit(n)
		if err == nil || !strings.Contains(err.Error(), "limit") {
			t.Errorf("SetLimit(%d): %v, want an error", n, err)
		}
	}
	wantEqual(t, "limit", g.Limit(), 5)
	if err := g.SetLimit(gate.MaxLimit); err != nil {
		t.Error(err)
	}
}

func TestTryAcquireNeverWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 1)
		lease, err := g.TryAcquire(gate.Call{})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_, err = g.TryAcquire(gate.Call{})
		r := refused(t, err, gate.ReasonLimit)
		wantEqual(t, "decision", r.Decision, gate.RejectedBusy)
		wantEqual(t, "time passed", time.Since(began), 0)
		lease.Release()
	})
}

func TestLeaseSaysHowManyAreInFlight(t *testing.T) {
	g := newGate(t, 9)
	for want := range int64(3) {
		lease := acquire(t, g, gate.Call{Cost: 2})
		defer lease.Release()
		wantEqual(t, "in flight", lease.InFlight(), 2*want+2)
		wantEqual(t, "waited", lease.Waited(), 0)
		wantEqual(t, "decision", lease.Decision(), gate.Accepted)
		wantEqual(t, "gate", lease.Gate(), g)
	}
}
