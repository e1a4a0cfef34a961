package gate_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

func TestSlotIsHeldUntilTheHandlerReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 1)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		lease, err := g.Acquire(ctx, gate.Call{})
		if err != nil {
			t.Fatal(err)
		}
		advance(20 * time.Millisecond)
		cancel()
		advance(time.Hour)
		wantNow(t, g, 1, 0)
		lease.Release()
	})
}

// end runs f on a goroutine of its own, which f may end by a panic or Goexit, and returns what it panicked with.
func end(f func()) (panicked any) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { panicked = recover() }()
		f()
	}()
	<-done
	return panicked
}

func TestPanicGivesTheSlotBack(t *testing.T) {
	g := newGate(t, 1)
	for range 3 {
		panicked := end(func() {
			_ = g.Do(context.Background(), gate.Call{}, func(context.Context) error { panic("handler") })
		})
		wantEqual(t, "panic", panicked, any("handler"))
		wantNow(t, g, 0, 0)
	}
}

func TestGoexitGivesTheSlotBack(t *testing.T) {
	g := newGate(t, 1)
	for range 3 {
		end(func() {
			_ = g.Do(context.Background(), gate.Call{}, func(context.Context) error {
				goexit()
				return nil
			})
		})
		wantNow(t, g, 0, 0)
	}
}

func TestDoReturnsWhatItRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 1)
		want := errors.New("of the handler")
		err := g.Do(t.Context(), gate.Call{}, func(ctx context.Context) error {
			wantNow(t, g, 1, 0)
			if lease, ok := gate.LeaseFromContext(ctx); !ok || lease.Gate() != g {
				t.Errorf("lease of the context: %+v, %t", lease, ok)
			}
			err := g.Do(ctx, gate.Call{}, func(context.Context) error {
				t.Error("ran although it was refused")
				return nil
			})
			refused(t, err, gate.ReasonWaitTimeout)
			return want
		})
		wantEqual(t, "error", err, want)
	})
}

func TestReleaseCountsOnce(t *testing.T) {
	g := newGate(t, 2)
	first := acquire(t, g, gate.Call{})
	dup := first
	first.Release()
	first.Release()
	dup.Release()
	wantNow(t, g, 0, 0)

	// The slot of the first is now that of the second, which the first must not touch.
	second := acquire(t, g, gate.Call{})
	first.Release()
	dup.Release()
	wantNow(t, g, 1, 0)
	second.Release()

	gate.Lease{}.Release()
}

func TestReleaseIsSafeFromAnyGoroutine(t *testing.T) {
	g := newGate(t, 10)
	for range 100 {
		lease := acquire(t, g, gate.Call{})
		var released sync.WaitGroup
		for range 4 {
			released.Go(lease.Release)
		}
		released.Wait()
		wantNow(t, g, 0, 0)
	}
}

func TestHandlerMayReleaseEarly(t *testing.T) {
	g := newGate(t, 1)
	_ = g.Do(context.Background(), gate.Call{}, func(ctx context.Context) error {
		lease, ok := gate.LeaseFromContext(context.WithValue(ctx, otherKey{}, "further in"))
		if !ok {
			t.Error("no lease in the context")
		}
		lease.Release()
		wantNow(t, g, 0, 0)
		acquire(t, g, gate.Call{}).Release()
		return nil
	})
}

func TestContextWithoutALeaseGivesOneThatIsSafe(t *testing.T) {
	lease, ok := gate.LeaseFromContext(context.Background())
	wantEqual(t, "ok", ok, false)
	wantEqual(t, "lease", lease, gate.Lease{})
	lease.Release()
	wantEqual(t, "decision", lease.Decision(), 0)
	wantEqual(t, "waited", lease.Waited(), 0)
	if lease.Gate() != nil {
		t.Error("the zero lease has a gate")
	}
}

// otherKey is the key of something else in a context.
type otherKey struct{}
