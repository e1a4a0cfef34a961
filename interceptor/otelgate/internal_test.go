package otelgate

import (
	"fmt"
	"sync"
	"testing"

	"github.com/rpcgate/rpcgate/gate"
)

func TestEveryOutcomeHasAPlaceOfItsOwn(t *testing.T) {
	r := newRoute("db", "a.A/A")
	seen := map[*series]string{}
	for d := gate.Accepted; d.String() != ""; d++ {
		for reason := gate.Reason(0); reason == 0 || reason.String() != ""; reason++ {
			for _, dryRun := range []bool{false, true} {
				name := fmt.Sprint(d, reason, dryRun)
				s := r.outcome(&gate.Event{Decision: d, Reason: reason, DryRun: dryRun})
				if other, ok := seen[s]; ok {
					t.Errorf("%s and %s have the same place", name, other)
				}
				seen[s] = name
			}
		}
	}
	if len(seen) != 4*7*2 {
		t.Errorf("%d outcomes: the array has room for 4 decisions and 8 reasons", len(seen))
	}
}

func TestRoutesAreSafeForConcurrentUse(t *testing.T) {
	const most = 50
	table := newRoutes("db", most)
	var wg sync.WaitGroup
	var found [4][2 * most]*route
	for w := range found {
		wg.Go(func() {
			for i := range found[w] {
				e := gate.Event{Call: gate.Call{Route: fmt.Sprint("/a.A/", i)}, Decision: gate.Accepted}
				found[w][i] = table.find(&e.Call)
				found[w][i].outcome(&e)
			}
		})
	}
	wg.Wait()
	distinct := map[*route]bool{}
	for i := range found[0] {
		for w := range found {
			again := table.find(&gate.Call{Route: fmt.Sprint("/a.A/", i)})
			if found[w][i] != found[0][i] || again != found[0][i] {
				t.Errorf("route %d was found in two places", i)
			}
		}
		distinct[found[0][i]] = true
	}
	if len(distinct) != most+1 || !distinct[table.other] {
		t.Errorf("%d places, want %d and one for the others", len(distinct), most)
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
