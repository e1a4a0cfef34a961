package gate_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

// wantAllocs checks how often f allocates. The race detector allocates by itself, so the test is only about plain builds.
func wantAllocs(t *testing.T, what string, want float64, f func()) {
	t.Helper()
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	if got := testing.AllocsPerRun(1000, f); got > want {
		t.Errorf("%s: %v allocations, want %v", what, got, want)
	}
}

func TestAdmissionAllocatesNothing(t *testing.T) {
	ctx := context.Background()
	call := gate.Call{Route: "/orders.v1.OrderService/ListOpen", RequestID: "1", RemoteIP: "192.0.2.1", Key: "ann"}
	plain, keyed := newGate(t, 10), newGate(t, 10, gate.WithKeyLimit(5))
	watched := newGate(t, 10, gate.WithOnEvent(func(context.Context, gate.Event) {}), gate.WithReserve(gate.Critical, 1))
	snapped := newGate(t, 10)
	snapped.Snapshot()
	chain := gate.Chain(newNamed(t, "narrow", 5), newNamed(t, "wide", 10))
	policy := newPolicy(t, gate.Route("/orders.*", newGate(t, 10)))
	for what, a := range map[string]gate.Admitter{
		"plain": plain, "by key": keyed, "watched": watched, "after a snapshot": snapped, "chain": chain, "policy": policy,
		"dry run": newGate(t, 10, gate.WithDryRun()), "cost": newGate(t, 10, gate.WithCost(func(c gate.Call) int64 { return c.Size })),
	} {
		wantAllocs(t, what, 0, func() {
			lease, err := a.Acquire(ctx, call)
			if err != nil {
				t.Fatal(err)
			}
			lease.Release()
		})
	}
	wantAllocs(t, "TryAcquire", 0, func() {
		if lease, err := plain.TryAcquire(call); err == nil {
			lease.Release()
		}
	})
	run := func(context.Context) error { return nil }
	wantAllocs(t, "Do, but for its context", 1, func() { _ = plain.Do(ctx, call, run) })
}

// TestHandOffAllocatesNothing has two goroutines hand the one slot of a gate to and fro.
func TestHandOffAllocatesNothing(t *testing.T) {
	ctx := context.Background()
	g := newGate(t, 1, gate.WithMaxWait(1<<40))
	turn := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range turn {
			lease, err := g.Acquire(ctx, gate.Call{})
			if err != nil {
				t.Error(err)
				return
			}
			lease.Release()
			turn <- struct{}{}
		}
	}()
	defer func() {
		close(turn)
		<-done
	}()
	wantAllocs(t, "hand-off", 0, func() {
		lease, err := g.Acquire(ctx, gate.Call{})
		if err != nil {
			t.Fatal(err)
		}
		turn <- struct{}{}
		for g.Waiting() == 0 { // until the other waits for it
			gosched()
		}
		lease.Release()
		<-turn
	})
}

func TestARefusalAllocatesOnlyItsRejection(t *testing.T) {
	g := newGate(t, 1)
	defer acquire(t, g, gate.Call{}).Release() // deferred, for wantAllocs may skip
	wantAllocs(t, "refusal", 1, func() { _, _ = g.TryAcquire(gate.Call{RequestID: "1"}) })
}

// TestNoClockIsReadWhenThereIsNoWait looks at ages: a lease whose admission read no clock is as old as the first
// Snapshot that shows it.
func TestNoClockIsReadWhenThereIsNoWait(t *testing.T) {
	interests := map[string]gate.Interest{
		"nothing": gate.ObserveNothing, "trouble": gate.ObserveTrouble,
		"trouble, ever": gate.ObserveTrouble | gate.ObserveFixed, "all": gate.ObserveAll,
	}
	ways := map[string]func(t *testing.T, g *gate.Gate) (gate.Lease, error){
		"Acquire":    func(t *testing.T, g *gate.Gate) (gate.Lease, error) { return g.Acquire(t.Context(), gate.Call{}) },
		"Enter":      func(t *testing.T, g *gate.Gate) (gate.Lease, error) { return gate.Enter(t.Context(), g, &gate.Call{}) },
		"TryAcquire": func(_ *testing.T, g *gate.Gate) (gate.Lease, error) { return g.TryAcquire(gate.Call{}) },
		"a policy": func(t *testing.T, g *gate.Gate) (gate.Lease, error) {
			return newPolicy(t, gate.Route("*", g)).Acquire(t.Context(), gate.Call{})
		},
		"a chain": func(t *testing.T, g *gate.Gate) (gate.Lease, error) {
			return gate.Chain(g, newNamed(t, "other", 9)).Acquire(t.Context(), gate.Call{})
		},
	}
	for interest, i := range interests {
		for way, acquire := range ways {
			t.Run(way+", with an observer of "+interest, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					g := newGate(t, 4)
					g.Observe(interested(i))
					lease, err := acquire(t, g)
					if err != nil {
						t.Fatal(err)
					}
					defer lease.Release()
					advance(time.Hour)
					want := time.Duration(0)
					if i == gate.ObserveAll {
						want = time.Hour
					}
					wantEqual(t, "age", g.Snapshot().Holders[0].Age, want)
				})
			})
		}
	}
}

// interested is an observer that does nothing.
type interested gate.Interest

func (i interested) Interest(context.Context) gate.Interest { return gate.Interest(i) }
func (interested) OnEvent(context.Context, gate.Event)      {}
