package micro

import (
	"slices"
	"testing"

	"github.com/rpcgate/rpcgate/internal/bench/measure"
)

// The cases panic if they are let in where they should not be, or the other way round.
func TestCasesDoWhatTheySay(t *testing.T) {
	cases := slices.Concat(freeCases(), gateRefusals(), semaphoreRefusals(), peerRefusals())
	names := map[string]bool{}
	for _, c := range cases {
		c.Run(100)
		names[c.Name] = true
	}
	for _, name := range []string{floorMutex, gateFree, gateTry, gatePolicy, gateChain, floorCompare, gateLook} {
		if !names[name] {
			t.Errorf("no case is called %q, which has a target or is a base", name)
		}
	}
}

func TestQueuersHoldOnePlaceAtATime(t *testing.T) {
	for _, q := range queuers(8) {
		once, held, most := q.make(1), 0, 0
		measure.NewLab(true).Time(measure.Plan{Rounds: 1, Workers: 8}, []measure.Case{{Run: func(n int) {
			for range n {
				once(func() {
					held++ // the race detector sees if two do this at once
					most = max(most, held)
					held--
				})
			}
		}}})
		if most != 1 {
			t.Errorf("%s: %d held the one place at once", q.name, most)
		}
	}
}
