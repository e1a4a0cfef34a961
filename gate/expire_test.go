package gate_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/rpcgate/rpcgate/gate"
)

// TestEveryWaitEndsOnTime has one timer for many waits, whose lengths are up to the deadlines of the callers.
func TestEveryWaitEndsOnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const calls = 200
		g := newGate(t, 1, gate.WithMaxWait(time.Minute), gate.WithMaxWaiting(calls), gate.WithDeadlineShare(0.5))
		holder := acquire(t, g, gate.Call{})
		ended := make(chan bool)
		for range calls {
			want := time.Duration(2+rand.IntN(5000)) * time.Millisecond
			ctx, cancel := context.WithTimeout(context.Background(), 2*want)
			defer cancel()
			go func() {
				start := time.Now()
				_, err := g.Acquire(ctx, gate.Call{Priority: gate.Priority(rand.IntN(3) - 1)})
				ended <- errors.Is(err, gate.ErrTimeout) && time.Since(start) == want
			}()
			if rand.IntN(3) == 0 {
				advance(time.Duration(rand.IntN(20)) * time.Millisecond)
			}
		}
		for range calls {
			if !<-ended {
				t.Error("a wait did not end on time")
			}
		}
		wantNow(t, g, 1, 0)
		holder.Release()
	})
}

// TestTimerThatWasSetForAnotherWaitEndsNone has a waiter that was admitted long before the timer, which was set for it,
// goes off while another one waits.
func TestTimerThatWasSetForAnotherWaitEndsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 1)
		holder := acquire(t, g, gate.Call{})
		first := start(t.Context(), g, gate.Call{})
		advance(10 * time.Millisecond)
		holder.Release()
		lease := first.admitted(t)
		advance(50 * time.Millisecond)
		second := start(t.Context(), g, gate.Call{})
		advance(gate.DefaultMaxWait - time.Nanosecond)
		if !second.waits() {
			t.Error("the wait ended before its time")
		}
		advance(time.Nanosecond)
		second.refused(t, gate.ReasonWaitTimeout)
		lease.Release()
	})
}

// TestEndlessWaitKeepsNobodyBeyondHisDeadline has a wait whose end, as a sum, would overflow, in both orders with a short
// one at the same gate.
func TestEndlessWaitKeepsNobodyBeyondHisDeadline(t *testing.T) {
	for _, dryRun := range []bool{false, true} {
		for _, endlessFirst := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				g := newGate(t, 1, gate.WithMaxWait(math.MaxInt64), gate.WithMaxWaiting(2))
				holder := acquire(t, g, gate.Call{})
				var endless *attempt
				beginEndless := func() {
					g.SetDryRun(dryRun)
					endless = start(context.Background(), g, gate.Call{})
					g.SetDryRun(false)
				}
				if endlessFirst {
					beginEndless()
				}
				ctx, cancel := withTimeout(t, 20*time.Millisecond)
				defer cancel()
				short := start(ctx, g, gate.Call{})
				if !endlessFirst {
					beginEndless()
				}
				advance(10 * time.Millisecond)
				short.refused(t, gate.ReasonWaitTimeout)
				advance(1000 * time.Hour)
				wantEqual(t, "calls that wait", g.Waiting(), 1)
				holder.Release()
				endless.admitted(t).Release()
			})
		}
	}
}

// TestTimerKeepsNoGateThatNobodyUses has a call that might have waited for an hour, and was admitted soon. Until the hour
// is over the timer is set.
func TestTimerKeepsNoGateThatNobodyUses(t *testing.T) {
	known := func() weak.Pointer[gate.Gate] {
		g := gate.Must(gate.New("replaced", 1, gate.WithMaxWait(time.Hour)))
		holder := acquire(t, g, gate.Call{})
		admitted := make(chan error)
		go func() {
			admitted <- g.Do(context.Background(), gate.Call{}, func(context.Context) error { return nil })
		}()
		for g.Waiting() == 0 {
			gosched()
		}
		holder.Release()
		if err := <-admitted; err != nil {
			t.Fatal(err)
		}
		return weak.Make(g)
	}()
	for range 10 { // the stack of a goroutine that ends may still know it
		runtime.GC()
		gosched()
	}
	if known.Value() != nil {
		t.Error("the gate was not collected")
	}
}
