package gate_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

func TestWaitEndsAfter100MillisecondsByDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 1)
		holder := acquire(t, g, gate.Call{})
		began := time.Now()
		_, err := g.Acquire(t.Context(), gate.Call{})
		r := refused(t, err, gate.ReasonWaitTimeout)
		wantEqual(t, "time passed", time.Since(began), 100*time.Millisecond)
		wantEqual(t, "waited", r.Waited, 100*time.Millisecond)
		wantEqual(t, "decision", r.Decision, gate.RejectedTimeout)
		wantEqual(t, "is ErrTimeout", errors.Is(err, gate.ErrTimeout), true)
		wantEqual(t, "is ErrBusy", errors.Is(err, gate.ErrBusy), false)
		holder.Release()
	})
}

func TestWaitIsAtMostHalfTheRemainingDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 1)
		holder := acquire(t, g, gate.Call{})
		ctx, cancel := context.WithTimeout(t.Context(), 60*time.Millisecond)
		defer cancel()
		began := time.Now()
		_, err := g.Acquire(ctx, gate.Call{})
		refused(t, err, gate.ReasonWaitTimeout)
		wantEqual(t, "time passed", time.Since(began), 30*time.Millisecond)
		holder.Release()
	})
}

// TestWaitIsTheLeastOfWaitAndShare goes through the shares, also of deadlines that are not of this world. left < 0 means
// that there is no deadline; waits < 0 that the call is refused at once for it.
func TestWaitIsTheLeastOfWaitAndShare(t *testing.T) {
	const never, forever = -1, math.MaxInt64
	ms := time.Millisecond
	for _, test := range []struct {
		share               float64
		maxWait, left, want time.Duration
	}{
		{0.5, 100 * ms, never, 100 * ms},
		{0.5, 100 * ms, 1000 * ms, 100 * ms},
		{0.5, 100 * ms, 200 * ms, 100 * ms},
		{0.5, 100 * ms, 199 * ms, 99*ms + 500*time.Microsecond},
		{0.5, 100 * ms, 2 * ms, 1 * ms},
		{0.5, 100 * ms, 2*ms - 1, never},
		{0.5, 100 * ms, 1, never},
		{0.1, 100 * ms, 500 * ms, 50 * ms},
		{1.0, 100 * ms, 150 * ms, 100 * ms},
		{0.001, 100 * ms, 1000 * ms, 1 * ms},
		{0.001, 100 * ms, 999 * ms, never},
		{0.5, 200 * time.Microsecond, 1 * ms, 200 * time.Microsecond}, // a short wait by choice
		{0.5, 200 * time.Microsecond, 300 * time.Microsecond, never},
		{0.5, 100 * ms, forever, 100 * ms},
		{1.0, 100 * ms, forever, 100 * ms},
		{math.SmallestNonzeroFloat64, 100 * ms, forever, never},
		{0.5, forever, 24 * time.Hour, 12 * time.Hour},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := newGate(t, 1, gate.WithMaxWait(test.maxWait), gate.WithDeadlineShare(test.share))
			holder := acquire(t, g, gate.Call{})
			ctx := t.Context()
			if test.left >= 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, test.left)
				defer cancel()
			}
			began := time.Now()
			_, err := g.Acquire(ctx, gate.Call{})
			reason := gate.ReasonWaitTimeout
			if test.want < 0 {
				reason = gate.ReasonDeadline
			}
			var r *gate.Rejection
			if !errors.As(err, &r) || r.Reason != reason || time.Since(began) != max(test.want, 0) {
				t.Errorf("%+v: %v after %s", test, err, time.Since(began))
			}
			holder.Release()
		})
	}
}

func TestANearDeadlineIsNoObstacleWhenASlotIsFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 1)
		ctx, cancel := context.WithTimeout(t.Context(), 1)
		defer cancel()
		lease, err := g.Acquire(ctx, gate.Call{})
		if err != nil {
			t.Fatal(err)
		}
		lease.Release()
	})
}

func TestTheWholeDeadlineMayBeWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 1, gate.WithDeadlineShare(1))
		holder := acquire(t, g, gate.Call{})
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		waiter := start(ctx, g, gate.Call{})
		advance(20 * time.Millisecond)
		// Both ended at the same time. Which of the two it is told of is open.
		if waiter.waits() || !errors.Is(waiter.err, gate.ErrTimeout) && !errors.Is(waiter.err, context.DeadlineExceeded) {
			t.Fatalf("the call got %v, want an error now", waiter.err)
		}
		holder.Release()
	})
}

func TestLeaseSaysHowLongTheCallWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 1)
		holder := acquire(t, g, gate.Call{})
		waiter := start(t.Context(), g, gate.Call{})
		advance(30 * time.Millisecond)
		holder.Release()
		lease := waiter.admitted(t)
		wantEqual(t, "waited", lease.Waited(), 30*time.Millisecond)
		wantEqual(t, "in flight", lease.InFlight(), 1)
		lease.Release()
	})
}

func TestASlotIsUsedForManyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 1)
		for range 3 { // a timer or a message left over from one wait must not end the next
			holder := acquire(t, g, gate.Call{})
			inTime, late := start(t.Context(), g, gate.Call{}), start(t.Context(), g, gate.Call{})
			wantEqual(t, "second in the queue waits", late.waits(), false)
			advance(99 * time.Millisecond)
			holder.Release()
			lease := inTime.admitted(t)
			next := start(t.Context(), g, gate.Call{})
			advance(99 * time.Millisecond)
			wantEqual(t, "waits", next.waits(), true)
			advance(time.Millisecond)
			next.refused(t, gate.ReasonWaitTimeout)
			lease.Release()
		}
	})
}
