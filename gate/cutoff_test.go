package gate_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

func TestACallThatIsCutOffIsCountedForItsReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var last gate.Event
		g := newGate(t, 2, gate.WithOnEvent(func(_ context.Context, e gate.Event) { last = e }))
		for range 2 { // the second one uses the slot of the first
			lease := acquire(t, g, gate.Call{})
			wantEqual(t, "cut off", lease.CutOff(gate.ReasonSlowRequest), true)
			wantEqual(t, "cut off again", lease.CutOff(gate.ReasonSlowResponse), false)
			wantEqual(t, "in flight", g.InFlight(), 1)
			lease.Release()
			wantEqual(t, "kind", last.Kind, gate.EventRelease)
			wantEqual(t, "reason", last.Reason, gate.ReasonSlowRequest)
			wantEqual(t, "cut off after the release", lease.CutOff(gate.ReasonSlowRequest), false)
		}
		acquire(t, g, gate.Call{}).Release()
		wantEqual(t, "reason of a call that was not cut off", last.Reason, 0)
		totals := g.Snapshot().Totals
		wantEqual(t, "slow requests", totals.CutOff[gate.ReasonSlowRequest], 2)
		wantEqual(t, "reasons", len(totals.CutOff), 1)
		wantEqual(t, "rejections", len(totals.ByReason), 0)
		wantEqual(t, "accepted", totals.Accepted, 3)
	})
}

// TestACutOffEndsWithItsCallAtAGateWithoutObservers takes the fast path before and after.
func TestACutOffEndsWithItsCallAtAGateWithoutObservers(t *testing.T) {
	g := newGate(t, 1)
	for range 3 {
		lease := acquire(t, g, gate.Call{})
		wantEqual(t, "cut off", lease.CutOff(gate.ReasonSlowResponse), true)
		lease.Release()
	}
	wantEqual(t, "slow responses", g.Snapshot().Totals.CutOff[gate.ReasonSlowResponse], 3)
}

func TestAChainIsCutOffAtAllItsGates(t *testing.T) {
	narrow, wide := newNamed(t, "narrow", 1), newNamed(t, "wide", 2)
	lease := acquire(t, gate.Chain(narrow, wide), gate.Call{})
	wantEqual(t, "cut off", lease.CutOff(gate.ReasonSlowRequest), true)
	wantEqual(t, "cut off again", lease.CutOff(gate.ReasonSlowRequest), false)
	lease.Release()
	for _, g := range []*gate.Gate{narrow, wide} {
		wantEqual(t, g.Name(), g.Snapshot().Totals.CutOff[gate.ReasonSlowRequest], 1)
	}
}

func TestOnlySlowClientsAreCutOff(t *testing.T) {
	g := newGate(t, 1)
	lease := acquire(t, g, gate.Call{})
	for _, r := range []gate.Reason{0, gate.ReasonLimit, gate.ReasonDraining, 99} {
		wantEqual(t, "cut off for "+r.String(), lease.CutOff(r), false)
	}
	lease.Release()
	wantEqual(t, "the zero lease", gate.Lease{}.CutOff(gate.ReasonSlowRequest), false)
	wantEqual(t, "totals", len(g.Snapshot().Totals.CutOff), 0)
}

// listener is a caller that wants to know of waits.
type listener struct {
	callerStub
	waits *int
	then  func()
}

func (l listener) OnWait(context.Context) {
	*l.waits++
	if l.then != nil {
		l.then()
	}
}

func TestAListenerHearsOfCallsThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waits := 0
		g := newGate(t, 1)
		call := gate.Call{Caller: listener{waits: &waits}}
		lease := acquire(t, g, call)
		wantEqual(t, "waits of a call that is admitted at once", waits, 0)
		next := start(t.Context(), g, call)
		wantEqual(t, "waits of a call that waits", waits, 1)
		start(t.Context(), g, call).refused(t, gate.ReasonQueueFull)
		wantEqual(t, "waits after a rejection at once", waits, 1)
		lease.Release()
		next.admitted(t).Release()

		g.SetDryRun(true)
		lease = acquire(t, g, call)
		acquire(t, g, call).Release()
		lease.Release()
		wantEqual(t, "waits in a dry run", waits, 1)
	})
}

// TestAListenerThatEndsItsGoroutineLosesNothing has a host with a bug.
func TestAListenerThatEndsItsGoroutineLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waits := 0
		g := newGate(t, 1)
		lease := acquire(t, g, gate.Call{})
		done := make(chan any)
		go func() {
			defer func() { done <- recover() }()
			_, _ = g.Acquire(t.Context(), gate.Call{Caller: listener{waits: &waits, then: func() { panic("bug") }}})
		}()
		wantEqual(t, "panic", <-done, any("bug"))
		wantEqual(t, "waiting", g.Waiting(), 0)
		lease.Release()
		wantEqual(t, "in flight", g.InFlight(), 0)
		advance(time.Second)
	})
}
