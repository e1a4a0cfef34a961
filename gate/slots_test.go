package gate_test

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rpcgate/rpcgate/gate"
)

// TestSlotsOfAPeakGo lets a dry run pass many more calls than the limit.
func TestSlotsOfAPeakGo(t *testing.T) {
	const peak, few = 10_000, 200
	g := newGate(t, 16, gate.WithDryRun())
	leases := make([]gate.Lease, peak)
	for i := range leases {
		leases[i] = acquire(t, g, gate.Call{})
	}
	for _, lease := range leases {
		lease.Release()
	}
	if n := gate.Slots(g); n > few {
		t.Errorf("%d slots are left of a peak of %d calls, want at most %d", n, peak, few)
	}
}

// TestTheQueueOfAPeakGoes lets a dry run pass many calls that would have waited.
func TestTheQueueOfAPeakGoes(t *testing.T) {
	const peak, few = 10_000, 300
	g := newGate(t, 1, gate.WithDryRun(), gate.WithMaxWaiting(peak))
	leases := make([]gate.Lease, peak)
	for i := range leases {
		leases[i] = acquire(t, g, gate.Call{})
	}
	for _, lease := range leases {
		lease.Release()
	}
	if n := gate.QueueRoom(g); n > few {
		t.Errorf("the queue has room for %d calls after a peak of %d, want at most %d", n, peak, few)
	}
}

// TestSlotsInUseStay has as many calls in flight as before, one after the other: no slot goes and comes back.
func TestSlotsInUseStay(t *testing.T) {
	const calls = 1000
	g := newGate(t, calls)
	var leases []gate.Lease
	for range calls {
		leases = append(leases, acquire(t, g, gate.Call{}))
	}
	for i := range 5 * calls {
		leases[i%calls].Release()
		leases[i%calls] = acquire(t, g, gate.Call{})
		if n := gate.Slots(g); n != calls {
			t.Fatalf("%d slots for %d calls in flight", n, calls)
		}
	}
	for _, lease := range leases {
		lease.Release()
	}
}

// TestAFreeGateKeepsNothingOfACall looks for a large string that calls of all kinds of end have brought along.
func TestAFreeGateKeepsNothingOfACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 1, gate.WithMaxWaiting(1), gate.WithKeyShare(1))
		const size = 8 << 20
		use := func() {
			large := strings.Repeat("x", size)
			call := gate.Call{Route: large[:9], RequestID: large[1:9], RemoteIP: large[2:9], Key: large[3:9]}
			holder := acquire(t, g, call)
			ctx, cancel := context.WithCancel(t.Context())
			gone := start(ctx, g, gate.Call{RequestID: large[4:9], Key: large[:14]})
			cancel()
			gone.failed(t, context.Canceled)
			waiter := start(t.Context(), g, gate.Call{RequestID: large[5:9], Key: large[:15]})
			start(t.Context(), g, gate.Call{RequestID: large[6:9], Key: large[:16]}).refused(t, gate.ReasonQueueFull)
			holder.Release()
			waiter.admitted(t).Release()
		}
		before := heap()
		use()
		if grown := int64(heap()) - int64(before); grown > size/2 {
			t.Errorf("%d bytes are kept of calls that are over", grown)
		}
		runtime.KeepAlive(g)
	})
}

// heap is how much memory is in use.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// panicking is a context that panics once a wait has begun, in the method of the given name.
type panicking struct {
	context.Context
	method string
	waits  bool
	gone   chan struct{}
}

func (c *panicking) Done() <-chan struct{} {
	if c.method == "Done" {
		panic("Done")
	}
	c.waits = true
	return c.gone
}

func (c *panicking) Err() error {
	if c.method == "Err" && c.waits {
		panic("Err")
	}
	return nil
}

func TestContextThatPanicsLosesNoSlot(t *testing.T) {
	for _, method := range []string{"Done", "Err, admitted", "Err, gone", "Err, timed out"} {
		t.Run(method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGate(t, 1)
				holder := acquire(t, g, gate.Call{})
				ctx := &panicking{Context: t.Context(), method: strings.Split(method, ",")[0], gone: make(chan struct{})}
				var panicked any
				done := make(chan struct{})
				go func() {
					defer close(done)
					panicked = end(func() { _, _ = g.Acquire(ctx, gate.Call{}) })
				}()
				synctest.Wait()
				switch method {
				case "Err, admitted":
					holder.Release()
				case "Err, gone":
					close(ctx.gone)
				}
				<-done
				if panicked != any(ctx.method) {
					t.Errorf("panic: %v, want %s", panicked, ctx.method)
				}
				holder.Release()
				wantNow(t, g, 0, 0)
			})
		})
	}
}
