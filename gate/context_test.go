package gate_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

func TestEndedContextTakesNoSlot(t *testing.T) {
	cancelled, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("a cause"))
	expired, cancelExpired := context.WithDeadline(context.Background(), time.Unix(0, 0))
	defer cancelExpired()
	for want, ctx := range map[error]context.Context{context.Canceled: cancelled, context.DeadlineExceeded: expired} {
		g := newGate(t, 1)
		chained := gate.Chain(g, newNamed(t, "wide", 2))
		policy, err := gate.NewPolicy(gate.Route("*", g))
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range []gate.Admitter{g, chained, policy} {
			if _, err := a.Acquire(ctx, gate.Call{Route: "/a/b"}); err != want { //nolint:errorlint // exactly this one
				t.Errorf("%T: %v, want %v", a, err, want)
			}
		}
		wantNow(t, g, 0, 0)
		totals := g.Snapshot().Totals
		wantEqual(t, "abandoned", totals.Abandoned, 3)
		wantEqual(t, "accepted", totals.Accepted, 0)
	}
}

func TestEndedContextDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 1)
		holder := acquire(t, g, gate.Call{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		cancel()
		began := time.Now()
		start(ctx, g, gate.Call{}).failed(t, context.Canceled)
		wantEqual(t, "time passed", time.Since(began), 0)
		holder.Release()
	})
}

func TestADeadlineThatPassedUnnoticedIsExceeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told log
		g := newGate(t, 1, gate.WithOnEvent(told.OnEvent))
		holder := acquire(t, g, gate.Call{})
		ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-1))
		defer cancel()
		late := stubContext{ctx, func() error { return nil }} // its timer has not fired yet
		start(late, g, gate.Call{}).failed(t, context.DeadlineExceeded)
		holder.Release()
		wantEqual(t, "abandoned", g.Overview().Totals.Abandoned, 1)
		decisions := told.of(gate.EventDecision)
		wantEqual(t, "decision", decisions[len(decisions)-1].Decision, gate.Abandoned)
	})
}

func TestCallerThatLeavesWhileWaitingIsAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 1)
		holder := acquire(t, g, gate.Call{})
		ctx, cancel := context.WithCancel(t.Context())
		waiter := start(ctx, g, gate.Call{})
		advance(20 * time.Millisecond)
		cancel()
		waiter.failed(t, context.Canceled)
		wantNow(t, g, 1, 0)
		totals := g.Snapshot().Totals
		wantEqual(t, "abandoned", totals.Abandoned, 1)
		wantEqual(t, "rejections", totals.RejectedBusy+totals.RejectedTimeout, 0)
		wantEqual(t, "reasons", len(totals.ByReason), 0)
		holder.Release()
	})
}

// lateErr is a context whose Err, once armed, blocks until it is told to answer: a waiter that was woken stands there,
// between its grant and its lease.
type lateErr struct {
	stubContext
	armed           atomic.Bool
	looking, answer chan struct{}
}

func newLateErr(ctx context.Context) *lateErr {
	c := &lateErr{looking: make(chan struct{}), answer: make(chan struct{})}
	c.stubContext = stubContext{ctx, func() error {
		if c.armed.CompareAndSwap(true, false) {
			c.looking <- struct{}{}
			<-c.answer
		}
		return ctx.Err()
	}}
	return c
}

func TestGrantThatRacesWithCancellationIsHandedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 1, gate.WithMaxWaiting(2))
		holder := acquire(t, g, gate.Call{})
		ctx, cancel := context.WithCancel(t.Context())
		late := newLateErr(ctx)
		front, next := start(late, g, gate.Call{}), start(t.Context(), g, gate.Call{})
		late.armed.Store(true)
		holder.Release()
		<-late.looking
		wantNow(t, g, 1, 1) // the slot is the front's
		cancel()
		close(late.answer)
		front.failed(t, context.Canceled)
		next.admitted(t).Release()
		totals := g.Snapshot().Totals
		wantEqual(t, "accepted", totals.Accepted, 2)
		wantEqual(t, "abandoned", totals.Abandoned, 1)
	})
}

func TestSlotThatComesFreeAfterTheEndOfTheWaitIsForTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 1)
		holder := acquire(t, g, gate.Call{})
		late := newLateErr(t.Context())
		waiter := start(late, g, gate.Call{})
		late.armed.Store(true)
		<-late.looking // its time is up, but before it can leave...
		holder.Release()
		next := acquire(t, g, gate.Call{})
		close(late.answer)
		waiter.refused(t, gate.ReasonWaitTimeout)
		wantNow(t, g, 1, 0)
		next.Release()
	})
}

func TestAWaiterThatIsRefusedAsItsCallerLeavesIsAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 1)
		holder := acquire(t, g, gate.Call{})
		ctx, cancel := context.WithCancel(t.Context())
		waiter := start(ctx, g, gate.Call{Priority: gate.Low})
		cancel()
		displacer := start(t.Context(), g, gate.Call{}) // maybe before the other could leave
		waiter.failed(t, context.Canceled)
		wantEqual(t, "rejections", g.Snapshot().Totals.RejectedBusy, 0)
		holder.Release()
		displacer.admitted(t).Release()
	})
}

// TestAgeCountsFromTheGrant looks at a waiter between its grant and the moment it wakes: its wait is no holding.
func TestAgeCountsFromTheGrant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var holds int
		g := newGate(t, 1, gate.WithMaxHold(50*time.Millisecond), gate.WithOnEvent(func(_ context.Context, e gate.Event) {
			if e.Kind == gate.EventMaxHold && e.Call.Route == "/late" {
				holds++
			}
		}))
		holder := acquire(t, g, gate.Call{})
		late := newLateErr(t.Context())
		waiter := start(late, g, gate.Call{Route: "/late"})
		advance(99 * time.Millisecond)
		late.armed.Store(true)
		holder.Release()
		<-late.looking
		holders := g.Snapshot().Holders
		if len(holders) != 1 || holders[0].Age != 0 {
			t.Fatalf("holders: %+v, want the waiter with age 0", holders)
		}
		advance(time.Millisecond) // a scan for leases held too long may come by
		close(late.answer)
		lease := waiter.admitted(t)
		advance(49 * time.Millisecond)
		wantEqual(t, "reports before its time", holds, 0)
		lease.Release()
	})
}

// TestContextThatIsDoneWithoutAnErrorLeavesNoMessage has such a context end a wait just before a grant, whose message
// nobody receives then.
func TestContextThatIsDoneWithoutAnErrorLeavesNoMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 1)
		holder := acquire(t, g, gate.Call{})
		ctx, cancel := context.WithCancel(t.Context())
		late := newLateErr(stubContext{ctx, func() error { return nil }})
		waiter := start(late, g, gate.Call{})
		late.armed.Store(true)
		cancel()
		<-late.looking
		holder.Release()
		close(late.answer)
		lease := waiter.admitted(t)
		next := start(t.Context(), g, gate.Call{})
		lease.Release()
		lease = next.admitted(t)
		next = start(t.Context(), g, gate.Call{}) // has the slot of the first
		wantEqual(t, "the next call waits", next.waits(), true)
		lease.Release()
		next.admitted(t).Release()
	})
}

// TestContextThatIsDoneWithoutAnErrorIsAWaitThatTimedOut has a context that breaks its contract, on a slot that was
// refused for another reason before.
func TestContextThatIsDoneWithoutAnErrorIsAWaitThatTimedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 1)
		holder := acquire(t, g, gate.Call{})
		displaced := start(t.Context(), g, gate.Call{Priority: gate.Low})
		critical := start(t.Context(), g, gate.Call{Priority: gate.Critical})
		displaced.refused(t, gate.ReasonQueueFull)
		holder.Release()
		lease := critical.admitted(t)
		ctx, cancel := context.WithCancel(t.Context())
		waiter := start(stubContext{ctx, func() error { return nil }}, g, gate.Call{})
		cancel()
		waiter.refused(t, gate.ReasonWaitTimeout)
		lease.Release()
	})
}
