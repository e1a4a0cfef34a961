package otelgate

import (
	"fmt"
	"sync"
	"testing"

	"github.com/rpcgate/rpcgate/gate"
)

func TestEveryOutcomeHasASeriesOfItsOwn(t *testing.T) {
	r := newRoute("db", "a.A/A")
	seen := map[*series]string{}
	for d := gate.Accepted; d.String() != ""; d++ {
		for reason := gate.Reason(0); reason == 0 || reason.String() != ""; reason++ {
			for _, dryRun := range []bool{false, true} {
				name := fmt.Sprint(d, reason, dryRun)
				s := r.outcome(&gate.Event{Decision: d, Reason: reason, DryRun: dryRun})
				if other, ok := seen[s]; ok {
					t.Errorf("%s and %s have the same series", name, other)
				}
				seen[s] = name
			}
		}
	}
	if len(seen) != 4*9*2 {
		t.Errorf("%d outcomes: the array has room for 4 decisions and 16 reasons", len(seen))
	}
}

func TestRoutesAreSafeForConcurrentUse(t *testing.T) {
	const most = 50
	table := newRoutes("db", most)
	var wg sync.WaitGroup
	var found [4][2 * most]*route
	var counted [4][2 * most]*series
	start := make(chan struct{})
	for w := range found {
		wg.Go(func() {
			<-start
			for i := range found[w] {
				e := gate.Event{Call: gate.Call{Route: fmt.Sprint("/a.A/", i)}, Decision: gate.Accepted}
				found[w][i] = table.find(&e.Call)
				counted[w][i] = found[w][i].outcome(&e)
			}
		})
	}
	close(start)
	wg.Wait()
	distinct := map[*route]bool{}
	for i := range found[0] {
		for w := range found {
			if counted[w][i] != counted[0][i] {
				t.Errorf("there are two series of route %d", i)
			}
			again := table.find(&gate.Call{Route: fmt.Sprint("/a.A/", i)})
			if found[w][i] != found[0][i] || again != found[0][i] {
				t.Errorf("there are two of route %d", i)
			}
		}
		distinct[found[0][i]] = true
	}
	if len(distinct) != most+1 || !distinct[table.other] {
		t.Errorf("%d routes, want %d and one for the others", len(distinct), most)
	}
}

func TestTheInterestInAbandonedCallsIsFixed(t *testing.T) {
	// Otherwise the gate would ask about every call.
	if got := new(abandonedSpans).Interest(t.Context()); got != gate.ObserveTrouble|gate.ObserveFixed {
		t.Errorf("interest %b", got)
	}
}

func TestEachVisitsEverySeriesOnce(t *testing.T) {
	table := newRoutes("db", 2)
	want := map[*series]bool{}
	for _, call := range []gate.Call{{Route: "/a.A/A"}, {Route: "/b.B/B"}, {Route: "/c.C/C"}, {UnknownRoute: true}, {Route: "/a.A/A"}} {
		for _, d := range []gate.Decision{gate.Accepted, gate.Abandoned} {
			want[table.find(&call).outcome(&gate.Event{Decision: d})] = true
		}
	}
	visits := 0
	table.each(func(s *series) {
		visits++
		if !want[s] {
			t.Error("a series that nobody asked for")
		}
	})
	if len(want) != 6 || visits != 6 {
		t.Errorf("%d visits to %d series, want 6", visits, len(want))
	}
}

func TestLookupsDoNotAllocate(t *testing.T) {
	table := newRoutes("db", 1)
	known := gate.Event{Call: gate.Call{Route: "/a.A/A"}, Decision: gate.Accepted}
	other := gate.Event{Call: gate.Call{Route: "/b.B/B"}, Decision: gate.RejectedBusy, Reason: gate.ReasonLimit}
	if n := testing.AllocsPerRun(100, func() {
		for _, e := range []*gate.Event{&known, &other} {
			table.find(&e.Call).outcome(e)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
