package gate_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

func TestWaitersAreServedByPriorityThenInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 1, gate.WithMaxWaiting(6))
		lease := acquire(t, g, gate.Call{})
		arrivals := []gate.Priority{gate.Low, gate.Normal, gate.Critical, gate.Low, gate.Normal, gate.Critical}
		var waiters []*attempt
		for _, p := range arrivals {
			waiters = append(waiters, start(t.Context(), g, gate.Call{Priority: p}))
		}
		by := g.Snapshot().WaitingBy
		for _, p := range arrivals {
			wantEqual(t, "waiting by "+p.String(), by[p], 2)
		}
		for _, turn := range []int{2, 5, 1, 4, 0, 3} {
			lease.Release()
			lease = waiters[turn].admitted(t)
		}
		lease.Release()
	})
}

func TestUnknownPrioritiesCountAsTheNearest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 1, gate.WithMaxWaiting(3))
		lease := acquire(t, g, gate.Call{Priority: 99})
		low := start(t.Context(), g, gate.Call{Priority: -99})
		normal := start(t.Context(), g, gate.Call{})
		high := start(t.Context(), g, gate.Call{Priority: 2})
		for _, next := range []*attempt{high, normal, low} {
			lease.Release()
			lease = next.admitted(t)
		}
		lease.Release()
	})
}

func TestHigherPriorityTakesThePlaceOfTheLastLowerOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 1, gate.WithMaxWaiting(3))
		holder := acquire(t, g, gate.Call{})
		low1 := start(t.Context(), g, gate.Call{Priority: gate.Low})
		normal := start(t.Context(), g, gate.Call{})
		low2 := start(t.Context(), g, gate.Call{Priority: gate.Low})
		advance(10 * time.Millisecond)

		critical1 := start(t.Context(), g, gate.Call{Priority: gate.Critical})
		r := low2.refused(t, gate.ReasonQueueFull)
		wantEqual(t, "decision", r.Decision, gate.RejectedBusy)
		wantEqual(t, "waited", r.Waited, 10*time.Millisecond)
		start(t.Context(), g, gate.Call{Priority: gate.Low}).refused(t, gate.ReasonQueueFull) // an equal takes no place
		critical2 := start(t.Context(), g, gate.Call{Priority: gate.Critical})
		low1.refused(t, gate.ReasonQueueFull)
		start(t.Context(), g, gate.Call{}).refused(t, gate.ReasonQueueFull)
		critical3 := start(t.Context(), g, gate.Call{Priority: gate.Critical})
		normal.refused(t, gate.ReasonQueueFull)
		start(t.Context(), g, gate.Call{Priority: gate.Critical}).refused(t, gate.ReasonQueueFull)
		wantNow(t, g, 1, 3)

		holder.Release()
		for _, next := range []*attempt{critical1, critical2, critical3} {
			next.admitted(t).Release()
		}
	})
}

func TestANewcomerPassesWaitersOfLowerPriority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 3)
		holder := acquire(t, g, gate.Call{})
		big := start(t.Context(), g, gate.Call{Priority: gate.Low, Cost: 3})
		lease, err := g.TryAcquire(gate.Call{})
		if err != nil {
			t.Fatalf("a call was held up by one of lower priority: %v", err)
		}
		_, err = g.TryAcquire(gate.Call{Priority: gate.Low})
		refused(t, err, gate.ReasonLimit)
		lease.Release()
		holder.Release()
		big.admitted(t).Release()
	})
}

func TestReservedUnitsAreForThatPriorityAndAbove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 10, gate.WithReserve(gate.Critical, 2), gate.WithReserve(gate.Normal, 3), gate.WithMaxWait(0))
		fill := func(p gate.Priority, n int) (leases []gate.Lease) {
			for range n {
				leases = append(leases, acquire(t, g, gate.Call{Priority: p}))
			}
			_, err := g.TryAcquire(gate.Call{Priority: p})
			refused(t, err, gate.ReasonLimit)
			return leases
		}
		leases := fill(gate.Low, 5)
		leases = append(leases, fill(gate.Normal, 3)...)
		leases = append(leases, fill(gate.Critical, 2)...)
		wantNow(t, g, 10, 0)
		for _, lease := range leases {
			lease.Release()
		}
		leases = fill(gate.Critical, 10) // all of it is for them
		for _, lease := range leases {
			lease.Release()
		}
	})
}

func TestReservesGiveWayToOneUnitForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 10, gate.WithReserve(gate.Critical, 4), gate.WithReserve(gate.Normal, 4))
		if err := g.SetLimit(3); err != nil {
			t.Fatal(err)
		}
		low := acquire(t, g, gate.Call{Priority: gate.Low, Cost: 5})
		wantNow(t, g, 1, 0) // clamped to the unit that is left for all
		another := start(t.Context(), g, gate.Call{Priority: gate.Low})
		critical := acquire(t, g, gate.Call{Priority: gate.Critical, Cost: 2})
		wantNow(t, g, 3, 1)
		critical.Release()
		low.Release()
		another.admitted(t).Release()
		if err := g.SetLimit(10); err != nil { // and come back with the limit
			t.Fatal(err)
		}
		low = acquire(t, g, gate.Call{Priority: gate.Low, Cost: 5})
		wantEqual(t, "in flight", low.InFlight(), 2)
		low.Release()
	})
}

func TestAWaiterForAReserveIsWokenWhenThatIsFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 3, gate.WithReserve(gate.Critical, 1))
		critical := acquire(t, g, gate.Call{Priority: gate.Critical})
		normal := acquire(t, g, gate.Call{})
		waiter := start(t.Context(), g, gate.Call{})
		if !waiter.waits() {
			t.Fatal("a call took the unit that is reserved")
		}
		critical.Release()
		lease := waiter.admitted(t)
		lease.Release()
		normal.Release()
	})
}

// TestLowGetsWhatNormalLeaves shows what Low gets under constant load: nothing for as long as Normal always has somebody
// waiting, for priorities are strict; and what Normal leaves otherwise. A Low call waits no longer than any other, it is
// then told to come back.
func TestLowGetsWhatNormalLeaves(t *testing.T) {
	for _, test := range []struct {
		normals     int // callers of Normal priority, each calling again at once
		low, normal bool
	}{
		{normals: 1, low: true, normal: true},
		{normals: 2, low: true, normal: true}, // the gate's two slots, but nobody behind them
		{normals: 4, low: false, normal: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := newGate(t, 2, gate.WithMaxWaiting(8))
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			served := map[gate.Priority]*int{gate.Normal: new(int), gate.Low: new(int)}
			refused := 0
			load := func(p gate.Priority, served *int) {
				for ctx.Err() == nil {
					lease, err := g.Acquire(context.Background(), gate.Call{Priority: p})
					if err != nil {
						refused++ // only the one Low caller is ever refused
						continue
					}
					<-time.After(10 * time.Millisecond)
					*served++
					lease.Release()
				}
			}
			counts := make([]int, test.normals)
			for i := range counts {
				go load(gate.Normal, &counts[i])
			}
			advance(time.Millisecond)
			go load(gate.Low, served[gate.Low])
			<-ctx.Done()
			advance(time.Second)
			for _, n := range counts {
				*served[gate.Normal] += n
			}
			wantEqual(t, "Low is served", *served[gate.Low] > 0, test.low)
			wantEqual(t, "Normal is served", *served[gate.Normal] > 190, test.normal)
			if !test.low && (refused < 19 || refused > 21) { // after 100 ms each
				t.Errorf("Low was refused %d times in 2 s, want about 20", refused)
			}
		})
	}
}
