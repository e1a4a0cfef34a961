package gate_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

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
				refused(t, err, gate.ReasonWaitTimeout)
				ended <- time.Since(start) == want
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
