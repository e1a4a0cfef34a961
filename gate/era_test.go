package gate_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/internal/eras"
)

// TestAGateServesBubblesAndTheRealClock uses one gate, such as a package's variable, in tests with and without a bubble.
func TestAGateServesBubblesAndTheRealClock(t *testing.T) {
	const wait = 5 * time.Millisecond // of real time, too
	g := newGate(t, 1, gate.WithMaxWait(wait), gate.WithMaxHold(time.Hour),
		gate.WithRetryDelayGrowth(time.Minute), gate.WithOnEvent(func(context.Context, gate.Event) {}))
	chain := gate.Chain(g, newNamed(t, "wide", 2))
	eras.Each(t, func(t *testing.T) {
		for _, a := range []gate.Admitter{g, chain} {
			holder := acquire(t, a, gate.Call{})
			start := time.Now()
			_, err := a.Acquire(t.Context(), gate.Call{})
			refused(t, err, gate.ReasonWaitTimeout)
			if waited := time.Since(start); waited < wait {
				t.Errorf("the call was rejected after %s, want at least %s", waited, wait)
			}
			// A hand-off, by a goroutine that releases once the other one waits.
			time.AfterFunc(0, func() {
				for g.Waiting() == 0 {
					gosched()
				}
				holder.Release()
			})
			// On a busy machine a real wait may end before that goroutine has run.
			lease, err := a.Acquire(t.Context(), gate.Call{})
			for tries := 1; err != nil && tries < 1000; tries++ {
				lease, err = a.Acquire(t.Context(), gate.Call{})
			}
			if err != nil {
				t.Fatalf("no hand-off: %v", err)
			}
			lease.Release()
		}
	})
}

// TestATimerOfAnotherEraEndsNoWait leaves the timer of a wait that was served set, and lets it fire in another era.
func TestATimerOfAnotherEraEndsNoWait(t *testing.T) {
	g := newGate(t, 1, gate.WithMaxWait(20*time.Millisecond))
	holder := acquire(t, g, gate.Call{})
	time.AfterFunc(0, func() {
		for g.Waiting() == 0 {
			gosched()
		}
		holder.Release()
	})
	lease, err := g.Acquire(t.Context(), gate.Call{}) // sets a timer of real time
	if err != nil {
		t.Fatal(err)
	}
	lease.Release()
	fired := make(chan struct{})
	time.AfterFunc(40*time.Millisecond, func() { close(fired) })
	synctest.Test(t, func(t *testing.T) {
		holder := acquire(t, g, gate.Call{})
		waiter := start(t.Context(), g, gate.Call{})
		runtimeWait(fired)
		if !waiter.waits() {
			t.Errorf("the wait has ended with %v, want it to go on: no time has passed in the bubble", waiter.err)
		}
		holder.Release()
		waiter.admitted(t).Release()
	})
}

// runtimeWait waits for a channel of real time, which a goroutine in a bubble may do if it does not sleep on it.
func runtimeWait(fired <-chan struct{}) {
	for {
		select {
		case <-fired:
			return
		default:
			gosched()
		}
	}
}

func TestAHoldThatIsTooLongIsToldInEachEra(t *testing.T) {
	var told chan gate.Event // of the era
	g := newGate(t, 1, gate.WithMaxHold(5*time.Millisecond), gate.WithOnEvent(func(_ context.Context, e gate.Event) {
		if e.Kind == gate.EventMaxHold {
			told <- e
		}
	}))
	eras.Each(t, func(t *testing.T) {
		told = make(chan gate.Event, 1)
		lease := acquire(t, g, gate.Call{})
		defer lease.Release()
		if e := <-told; e.Held < 5*time.Millisecond {
			t.Errorf("held for %s, want at least 5ms", e.Held)
		}
	})
}

// TestALeaseOfAnotherEraHidesNoHoldThatIsTooLong has a lease that was given before the bubble began, or after, as its
// clock says.
func TestALeaseOfAnotherEraHidesNoHoldThatIsTooLong(t *testing.T) {
	var told []gate.Event
	g := newGate(t, 2, gate.WithMaxHold(time.Minute), gate.WithOnEvent(func(_ context.Context, e gate.Event) {
		if e.Kind == gate.EventMaxHold {
			told = append(told, e)
		}
	}))
	before := acquire(t, g, gate.Call{})
	synctest.Test(t, func(t *testing.T) {
		lease := acquire(t, g, gate.Call{})
		advance(time.Minute)
		lease.Release()
		if len(told) != 1 || told[0].Held != time.Minute {
			t.Errorf("told of %+v, want one lease held for a minute", told)
		}
	})
	before.Release()
}

// TestDrainsKeepNoChannelOfAnotherEra has a channel of Lease.Draining that nobody waits for any more, and a Drain that has
// given up, in the era before.
func TestDrainsKeepNoChannelOfAnotherEra(t *testing.T) {
	asked, drained := newNamed(t, "asked", 1), newNamed(t, "drained", 1)
	var held gate.Lease
	eras.Each(t, func(t *testing.T) {
		lease := acquire(t, asked, gate.Call{})
		select {
		case <-lease.Draining():
			t.Error("the gate drains")
		case <-time.After(time.Millisecond):
		}
		lease.Release()

		held.Release() // the drain of the era before ends
		_ = drained.Reopen()
		held = acquire(t, drained, gate.Call{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		wantEqual(t, "Drain", drained.Drain(ctx), context.DeadlineExceeded)
		<-held.Draining()
	})
	held.Release()
	synctest.Test(t, func(t *testing.T) {
		wantEqual(t, "Drain of a gate that was asked in another era", asked.Drain(t.Context()), nil)
	})
}

// TestTheRetryDelayOfABubbleIsNoOthers has each bubble leave a second in which all calls were rejected.
func TestTheRetryDelayOfABubbleIsNoOthers(t *testing.T) {
	g := newGate(t, 1, gate.WithRetryDelay(0, time.Second), gate.WithRetryDelayGrowth(time.Hour), gate.WithMaxWait(0))
	for range 2 {
		synctest.Test(t, func(t *testing.T) {
			holder := acquire(t, g, gate.Call{})
			for _, d := range delays(t, g, 20) {
				if d > time.Second {
					t.Fatalf("delay %s at first, want at most a second", d)
				}
			}
			advance(time.Minute)
			delays(t, g, 20)
			holder.Release()
		})
	}
}
