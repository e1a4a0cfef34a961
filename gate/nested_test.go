package gate_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

// TestNestedCallsNeverWaitForEachOther has calls within calls, through all sets of some narrow gates, and a wait that only
// ends in vain if two calls wait for each other.
func TestNestedCallsNeverWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const gates, callers, calls, depth = 5, 30, 30, 4
		var all []*gate.Gate
		for i := range gates {
			all = append(all, newNamed(t, fmt.Sprint("gate ", i), int64(1+i/2), gate.WithMaxWait(time.Hour), gate.WithMaxWaiting(callers)))
		}
		var rules []gate.Rule
		for set := 1; set < 1<<gates; set++ {
			var needs []*gate.Gate
			for i, g := range all {
				if set&(1<<i) != 0 {
					needs = append(needs, g)
				}
			}
			rules = append(rules, gate.Route(fmt.Sprint("/", set), needs...))
		}
		policy := newPolicy(t, rules...)
		var call func(ctx context.Context, r *rand.Rand, depth int)
		call = func(ctx context.Context, r *rand.Rand, depth int) {
			c := gate.Call{Route: fmt.Sprint("/", 1+r.IntN(1<<gates-1))}
			lease, err := gate.Enter(ctx, policy, &c)
			if err != nil {
				if !errors.Is(err, gate.ErrBusy) { // no room at a gate that is narrower than one that is held
					t.Error(err)
				}
				return
			}
			defer lease.Release()
			<-time.After(time.Millisecond)
			if lease != (gate.Lease{}) {
				ctx = gate.NewContext(ctx, lease, policy, &c)
			}
			if depth > 1 {
				call(ctx, r, depth-1)
			}
		}
		var done sync.WaitGroup
		for i := range uint64(callers) {
			done.Go(func() {
				r := rand.New(rand.NewPCG(i, 0))
				for range calls {
					call(t.Context(), r, depth)
				}
			})
		}
		done.Wait()
	})
}
