package gate_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

// order is the order in which a chain takes its gates.
func order(gates ...*gate.Gate) []*gate.Gate {
	return gate.Chain(gates...).(gate.GateLister).Gates()
}

func TestNarrowGatesAreTakenFirst(t *testing.T) {
	wide, narrow, younger := newNamed(t, "wide", 20), newNamed(t, "narrow", 2), newNamed(t, "a younger one", 2)
	for _, gates := range [][]*gate.Gate{{wide, narrow, younger}, {younger, narrow, wide}, {narrow, wide, younger}} {
		if got, want := order(gates...), []*gate.Gate{narrow, younger, wide}; !slices.Equal(got, want) {
			t.Errorf("taken in the order %s, %s, %s", got[0].Name(), got[1].Name(), got[2].Name())
		}
	}
}

func TestTheOrderOfTwoGatesNeverChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // where all gates are made at the same time
		a, b := newNamed(t, "a", 2, gate.WithMaxWaiting(99)), newNamed(t, "b", 3, gate.WithMaxWaiting(99))
		before := gate.Chain(a, b)
		for _, limits := range [][2]int64{{4, 3}, {3, 3}, {1, 1}} {
			if a.SetLimit(limits[0]) != nil || b.SetLimit(limits[1]) != nil {
				t.Fatal("SetLimit")
			}
			if got := order(b, a); got[0] != a {
				t.Errorf("with limits of %v the order is another", limits)
			}
		}
		after := gate.Chain(b, a)
		var served atomic.Int64
		for i := range 20 { // they would wait for each other, each with what the other one needs
			chain := []gate.Admitter{before, after}[i%2]
			go func() {
				if lease, err := chain.Acquire(t.Context(), gate.Call{}); err == nil {
					<-time.After(time.Millisecond)
					lease.Release()
					served.Add(1)
				}
			}()
		}
		advance(25 * time.Millisecond) // one a millisecond
		wantEqual(t, "served", served.Load(), 20)

		twins := []*gate.Gate{newNamed(t, "twin", 2), newNamed(t, "twin", 2)}
		if !slices.Equal(order(twins[0], twins[1]), twins) || !slices.Equal(order(twins[1], twins[0]), twins) {
			t.Error("two gates of one name and limit have no order")
		}
	})
}

func TestACallThatWaitsForTheNarrowGateHoldsNothingWide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		narrow, wide := newNamed(t, "narrow", 1), newNamed(t, "wide", 9)
		both := gate.Chain(wide, narrow)
		first := acquire(t, both, gate.Call{})
		wantNow(t, narrow, 1, 0)
		wantNow(t, wide, 1, 0)
		second := start(t.Context(), both, gate.Call{})
		wantNow(t, narrow, 1, 1)
		wantNow(t, wide, 1, 0)
		first.Release()
		second.admitted(t).Release()
	})
}

func TestOneLeaseCoversAllGates(t *testing.T) {
	var told log
	hook := gate.WithOnEvent(told.OnEvent)
	a, b, c := newNamed(t, "a", 1, hook), newNamed(t, "b", 2, hook), newNamed(t, "c", 3, hook)
	lease := acquire(t, gate.Chain(c, b, a), gate.Call{})
	for _, g := range []*gate.Gate{a, b, c} {
		wantNow(t, g, 1, 0)
	}
	lease.Release()
	lease.Release()
	for _, g := range []*gate.Gate{a, b, c} {
		wantNow(t, g, 0, 0)
	}
	var back []string
	for _, e := range told.of(gate.EventRelease) {
		back = append(back, e.Gate)
	}
	wantEqual(t, "given back in reverse", strings.Join(back, " "), "c b a")

	again := acquire(t, gate.Chain(a, b, c), gate.Call{}) // the slots are reused
	lease.Release()
	wantNow(t, a, 1, 0)
	again.Release()
}

func TestARefusalGivesBackWhatWasTakenInReverse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told log
		hook := gate.WithOnEvent(told.OnEvent)
		a, b, c := newNamed(t, "a", 1, hook), newNamed(t, "b", 2, hook), newNamed(t, "c", 3, hook)
		full := acquire(t, c, gate.Call{Cost: 3})
		waiter := start(t.Context(), gate.Chain(a, b, c), gate.Call{})
		wantNow(t, a, 1, 0)
		wantNow(t, b, 1, 0)
		advance(gate.DefaultMaxWait)
		r := waiter.refused(t, gate.ReasonWaitTimeout)
		wantEqual(t, "gate that decided", r.Gate, "c")
		wantEqual(t, "limit", r.Limit, 3)
		var back []string
		for _, e := range told.of(gate.EventRelease) {
			back = append(back, e.Gate)
		}
		wantEqual(t, "given back in reverse", strings.Join(back, " "), "b a")
		wantNow(t, a, 0, 0)
		wantNow(t, b, 0, 0)
		full.Release()
	})
}

func TestACallThatIsAbandonedGivesBackWhatWasTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		narrow, wide := newNamed(t, "narrow", 1), newNamed(t, "wide", 2)
		full := acquire(t, wide, gate.Call{Cost: 2})
		ctx, cancel := context.WithCancel(t.Context())
		waiter := start(ctx, gate.Chain(narrow, wide), gate.Call{})
		cancel()
		waiter.failed(t, context.Canceled)
		wantNow(t, narrow, 0, 0)
		full.Release()
	})
}

func TestOneWaitCoversAllGates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		narrow, wide := newNamed(t, "narrow", 1), newNamed(t, "wide", 2)
		holdNarrow, holdWide := acquire(t, narrow, gate.Call{}), acquire(t, wide, gate.Call{Cost: 2})
		waiter := start(t.Context(), gate.Chain(narrow, wide), gate.Call{})
		advance(70 * time.Millisecond)
		holdNarrow.Release()
		wantEqual(t, "waits at the second", waiter.waits(), true)
		wantNow(t, wide, 2, 1)
		advance(30 * time.Millisecond) // the 100 ms of both are over
		r := waiter.refused(t, gate.ReasonWaitTimeout)
		wantEqual(t, "gate that decided", r.Gate, "wide")
		wantEqual(t, "waited at both", r.Waited, 100*time.Millisecond)
		holdWide.Release()
	})
}

func TestLeaseOfAChainSaysTheWholeWaitAndWhoKeptItLongest(t *testing.T) {
	for _, test := range []struct {
		atNarrow, atWide time.Duration
		longest          string
	}{
		{0, 0, "narrow"},
		{30 * time.Millisecond, 0, "narrow"},
		{0, 30 * time.Millisecond, "wide"},
		{30 * time.Millisecond, 20 * time.Millisecond, "narrow"},
		{20 * time.Millisecond, 30 * time.Millisecond, "wide"},
	} {
		synctest.Test(t, func(t *testing.T) {
			narrow, wide := newNamed(t, "narrow", 1), newNamed(t, "wide", 2)
			var holdNarrow, holdWide gate.Lease
			if test.atNarrow > 0 {
				holdNarrow = acquire(t, narrow, gate.Call{})
			}
			if test.atWide > 0 {
				holdWide = acquire(t, wide, gate.Call{Cost: 2})
			}
			waiter := start(t.Context(), gate.Chain(narrow, wide), gate.Call{})
			advance(test.atNarrow)
			holdNarrow.Release()
			advance(test.atWide)
			holdWide.Release()
			lease := waiter.admitted(t)
			wantEqual(t, "waited", lease.Waited(), test.atNarrow+test.atWide)
			wantEqual(t, "gate that kept it longest", lease.Gate().Name(), test.longest)
			lease.Release()
		})
	}
}

func TestLeaseOfAChainKnowsTheLongestOfThreeWaits(t *testing.T) {
	for _, test := range []struct {
		waits   [3]time.Duration
		longest int
	}{
		{[3]time.Duration{30, 10, 20}, 0}, {[3]time.Duration{10, 30, 20}, 1}, {[3]time.Duration{20, 10, 30}, 2},
		{[3]time.Duration{30, 0, 20}, 0}, {[3]time.Duration{20, 20, 20}, 0}, {[3]time.Duration{0, 20, 20}, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			gates := []*gate.Gate{newNamed(t, "a", 1), newNamed(t, "b", 2), newNamed(t, "c", 3)}
			var holders [3]gate.Lease
			for i, g := range gates {
				if test.waits[i] > 0 {
					holders[i] = acquire(t, g, gate.Call{Cost: g.Limit()})
				}
			}
			waiter := start(t.Context(), gate.Chain(gates...), gate.Call{})
			for i, holder := range holders {
				advance(test.waits[i] * time.Millisecond)
				holder.Release()
			}
			lease := waiter.admitted(t)
			wantEqual(t, "waited", lease.Waited(), (test.waits[0]+test.waits[1]+test.waits[2])*time.Millisecond)
			wantEqual(t, "gate that kept it longest", lease.Gate().Name(), gates[test.longest].Name())
			lease.Release()
		})
	}
}

func TestDeadlineShareIsOfTheWholeChain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		narrow, wide := newNamed(t, "narrow", 1), newNamed(t, "wide", 2)
		holdNarrow, holdWide := acquire(t, narrow, gate.Call{}), acquire(t, wide, gate.Call{Cost: 2})
		ctx, cancel := withTimeout(t, 80*time.Millisecond) // 40 of it may be waited, at both together
		defer cancel()
		began := time.Now()
		waiter := start(ctx, gate.Chain(narrow, wide), gate.Call{})
		advance(30 * time.Millisecond)
		holdNarrow.Release()
		<-waiter.done
		wantEqual(t, "time passed", time.Since(began), 40*time.Millisecond)
		r := waiter.refused(t, gate.ReasonWaitTimeout)
		wantEqual(t, "waited", r.Waited, 40*time.Millisecond)
		holdWide.Release()
	})
}

func TestDeadlineThatIsCenturiesAwayIsNoObstacleInAChain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		narrow, wide := newNamed(t, "narrow", 1, gate.WithDeadlineShare(1)), newNamed(t, "wide", 2, gate.WithDeadlineShare(1))
		holdNarrow, holdWide := acquire(t, narrow, gate.Call{}), acquire(t, wide, gate.Call{Cost: 2})
		ctx, cancel := context.WithDeadline(t.Context(), time.Unix(1<<40, 0))
		defer cancel()
		waiter := start(ctx, gate.Chain(narrow, wide), gate.Call{})
		advance(10 * time.Millisecond)
		holdNarrow.Release()
		advance(10 * time.Millisecond)
		holdWide.Release()
		waiter.admitted(t).Release()
	})
}

func TestEachGateKeepsItsOwnWaitInAChain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		patient := newNamed(t, "patient", 1, gate.WithMaxWait(time.Second))
		brief := newNamed(t, "brief", 2, gate.WithMaxWait(20*time.Millisecond))
		hard := newNamed(t, "hard", 3, gate.WithMaxWait(0))
		holdPatient, holdBrief := acquire(t, patient, gate.Call{}), acquire(t, brief, gate.Call{Cost: 2})
		waiter := start(t.Context(), gate.Chain(patient, brief), gate.Call{})
		advance(500 * time.Millisecond)
		holdPatient.Release()
		advance(20 * time.Millisecond)
		r := waiter.refused(t, gate.ReasonWaitTimeout)
		wantEqual(t, "gate that decided", r.Gate, "brief")
		wantEqual(t, "waited", r.Waited, 520*time.Millisecond)
		holdBrief.Release()

		// A gate that lets nobody wait refuses for its limit, also whom another gate has kept waiting.
		holdPatient, holdHard := acquire(t, patient, gate.Call{}), acquire(t, hard, gate.Call{Cost: 3})
		waiter = start(t.Context(), gate.Chain(patient, hard), gate.Call{})
		advance(500 * time.Millisecond)
		holdPatient.Release()
		r = waiter.refused(t, gate.ReasonLimit)
		wantEqual(t, "decision", r.Decision, gate.RejectedBusy)
		wantEqual(t, "waited before", r.Waited, 500*time.Millisecond)
		holdHard.Release()
	})
}

func TestAGateInADryRunLetsAChainPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		narrow, wide := newNamed(t, "narrow", 1, gate.WithDryRun()), newNamed(t, "wide", 2)
		both := gate.Chain(narrow, wide)
		first, second := acquire(t, both, gate.Call{}), acquire(t, both, gate.Call{})
		third := start(t.Context(), both, gate.Call{})
		wantNow(t, narrow, 3, 1)
		wantNow(t, wide, 2, 1)
		wantEqual(t, "gate", second.Gate(), narrow)
		first.Release()
		lease := third.admitted(t)
		wantEqual(t, "gate that would have refused", lease.Gate(), narrow)
		wantEqual(t, "decision", lease.Decision(), gate.RejectedBusy)
		wantEqual(t, "reason", lease.Reason(), gate.ReasonQueueFull)
		wantEqual(t, "dry run", lease.DryRun(), true)
		second.Release()
		lease.Release()
	})
}

func TestChainsThatCrossDoNotWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newNamed(t, "a", 2, gate.WithMaxWaiting(99)), newNamed(t, "b", 2, gate.WithMaxWaiting(99))
		served := make(chan struct{}, 100)
		for i := range 40 {
			chain := gate.Chain(a, b)
			if i%2 == 0 {
				chain = gate.Chain(b, a)
			}
			go func() {
				if lease, err := chain.Acquire(t.Context(), gate.Call{}); err == nil {
					<-time.After(time.Millisecond)
					lease.Release()
					served <- struct{}{}
				}
			}()
		}
		advance(20 * time.Millisecond) // two a millisecond
		wantEqual(t, "served", len(served), 40)
	})
}

func TestAChainOfOneGateIsThatGate(t *testing.T) {
	g := newGate(t, 1)
	wantEqual(t, "chain", gate.Chain(g), gate.Admitter(g))
}

func TestBadChainsPanic(t *testing.T) {
	g, h := newNamed(t, "g", 1), newNamed(t, "h", 1)
	for want, gates := range map[string][]*gate.Gate{
		"gate.Chain: no gates":                {},
		"gate.Chain: gate 2 of 2 is nil":      {g, nil},
		`gate.Chain: gate "g" is given twice`: {g, h, g},
	} {
		wantEqual(t, "panic", end(func() { gate.Chain(gates...) }), any(want))
	}
}
