package gate_test

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

func TestACostTakesThatManyUnits(t *testing.T) {
	g := newGate(t, 5, gate.WithMaxWait(0))
	three := acquire(t, g, gate.Call{Cost: 3})
	wantNow(t, g, 3, 0)
	_, err := g.TryAcquire(gate.Call{Cost: 3})
	refused(t, err, gate.ReasonLimit)
	two := acquire(t, g, gate.Call{Cost: 2})
	wantNow(t, g, 5, 0)
	three.Release()
	wantNow(t, g, 2, 0)
	two.Release()
}

func TestACostOfZeroOrLessIsOne(t *testing.T) {
	g := newGate(t, 5)
	for _, cost := range []int64{0, -1, math.MinInt64} {
		lease := acquire(t, g, gate.Call{Cost: cost})
		wantNow(t, g, 1, 0)
		lease.Release()
	}
}

func TestACostAboveTheLimitRunsAlone(t *testing.T) {
	for _, cost := range []int64{6, 100, math.MaxInt64} {
		synctest.Test(t, func(t *testing.T) {
			g := newGate(t, 5)
			small := acquire(t, g, gate.Call{})
			big := start(t.Context(), g, gate.Call{Cost: cost})
			if !big.waits() {
				t.Fatal("a clamped call was admitted beside another one")
			}
			small.Release()
			lease := big.admitted(t)
			wantEqual(t, "in flight", lease.InFlight(), 5)
			_, err := g.TryAcquire(gate.Call{})
			refused(t, err, gate.ReasonLimit)
			lease.Release()
			wantNow(t, g, 0, 0)
		})
	}
}

func TestABigWaiterIsNotStarvedBySmallCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 4, gate.WithMaxWaiting(100))
		stop := make(chan struct{})
		for range 8 { // small calls, one after the other without a pause
			go func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					if lease, err := g.Acquire(t.Context(), gate.Call{}); err == nil {
						<-time.After(10 * time.Millisecond)
						lease.Release()
					}
				}
			}()
		}
		advance(55 * time.Millisecond)
		big := start(t.Context(), g, gate.Call{Cost: 4})
		advance(20 * time.Millisecond) // those in flight, and those before it in the queue
		lease := big.admitted(t)
		wantEqual(t, "in flight", g.InFlight(), 4)
		close(stop)
		lease.Release()
		advance(time.Second)
	})
}

func TestSmallCallsAreHeldUpNoLongerThanABigOneWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 4, gate.WithMaxWait(time.Second))
		holder := acquire(t, g, gate.Call{})
		short, cancel := withTimeout(t, 100*time.Millisecond)
		defer cancel()
		big := start(short, g, gate.Call{Cost: 4}) // waits for half of its deadline
		small := start(t.Context(), g, gate.Call{})
		advance(50 * time.Millisecond)
		big.refused(t, gate.ReasonWaitTimeout)
		lease := small.admitted(t)
		wantEqual(t, "held up", lease.Waited(), 50*time.Millisecond)
		lease.Release()
		holder.Release()
	})
}

func TestABudgetOfBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 64<<20, gate.WithMaxWaiting(gate.DefaultLeastWaiting), gate.WithCost(func(c gate.Call) int64 { return c.Size }))
		holder := acquire(t, g, gate.Call{Size: 64 << 20, Cost: 1}) // Call.Cost is not asked
		wantNow(t, g, 64<<20, 0)
		var waiters []*attempt
		for range gate.DefaultLeastWaiting {
			waiters = append(waiters, start(t.Context(), g, gate.Call{Size: 1 << 10}))
		}
		start(t.Context(), g, gate.Call{}).refused(t, gate.ReasonQueueFull)
		holder.Release()
		wantNow(t, g, gate.DefaultLeastWaiting<<10, 0)
		for _, w := range waiters {
			w.admitted(t).Release()
		}
		empty := acquire(t, g, gate.Call{})
		wantNow(t, g, 1, 0)
		empty.Release()
	})
}

// TestAnUnknownSizeIsCharged has a cost function that thinks of known sizes only.
func TestAnUnknownSizeIsCharged(t *testing.T) {
	var seen []gate.Call
	g := newGate(t, 1<<20, gate.WithMaxWait(0), gate.WithCost(func(c gate.Call) int64 { return c.Size }),
		gate.WithOnEvent(func(_ context.Context, e gate.Event) { seen = append(seen, e.Call) }))
	for _, test := range []struct {
		call gate.Call
		want int64
	}{
		{gate.Call{Size: gate.SizeUnknown}, gate.DefaultUnknownSize},
		{gate.Call{Size: -7}, gate.DefaultUnknownSize},
		{gate.Call{Size: gate.SizeUnknown, SizeIfUnknown: -1}, gate.DefaultUnknownSize},
		{gate.Call{Size: gate.SizeUnknown, SizeIfUnknown: 3000}, 3000},
		{gate.Call{Size: gate.SizeUnknown, SizeIfUnknown: 1}, 1},
		{gate.Call{Size: 20, SizeIfUnknown: 3000}, 20},
		{gate.Call{Size: 0, SizeIfUnknown: 3000}, 1},
	} {
		lease := acquire(t, g, test.call)
		wantNow(t, g, test.want, 0)
		lease.Release()
		wantEqual(t, "size that observers see", seen[len(seen)-1].Size, test.call.Size)
	}
	most := 0
	for {
		lease, err := g.TryAcquire(gate.Call{Size: gate.SizeUnknown})
		if err != nil {
			break
		}
		defer lease.Release()
		most++
	}
	wantEqual(t, "calls of unknown size in 1 MiB", most, 16)
	if err := g.RefuseEarly(t.Context(), gate.Call{Size: gate.SizeUnknown}); err == nil {
		t.Error("a full budget does not refuse early")
	}
}

func TestTheSumOfCostsNeverOverflows(t *testing.T) {
	g := newGate(t, gate.MaxLimit, gate.WithMaxWait(0), gate.WithKeyLimit(math.MaxInt64))
	half := acquire(t, g, gate.Call{Cost: gate.MaxLimit / 2, Key: "ann"})
	rest := acquire(t, g, gate.Call{Cost: gate.MaxLimit / 2, Key: "ann"})
	wantNow(t, g, gate.MaxLimit, 0)
	_, err := g.TryAcquire(gate.Call{Cost: math.MaxInt64, Key: "bob"})
	refused(t, err, gate.ReasonLimit)
	half.Release()
	rest.Release()
}
