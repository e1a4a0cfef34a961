package stress

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/rpcgate/rpcgate/gate"
)

// onEvent counts the decisions, and panics now and then.
func (g *watched) onEvent(_ context.Context, e gate.Event) {
	if e.Kind == gate.EventDecision && g.told[e.Decision].Add(1)%97 == 0 {
		panic("an observer's panic")
	}
}

// compareTotals checks that exactly what was counted was told.
func (g *watched) compareTotals(t gate.Totals) error {
	if !g.observed {
		return nil
	}
	for d, counted := range map[gate.Decision]uint64{
		gate.Accepted: t.Accepted, gate.RejectedBusy: t.RejectedBusy, gate.RejectedTimeout: t.RejectedTimeout,
		gate.Abandoned: t.Abandoned,
	} {
		if told := g.told[d].Load(); told != counted {
			return fmt.Errorf("%d %s were told and %d counted", told, d, counted)
		}
	}
	return nil
}

// observe adds observers to the gates that do not tell of every event.
func (w *world) observe() {
	for _, g := range w.in(plain | wide | drained) {
		for range 3 {
			f := &fickle{}
			w.fickle = append(w.fickle, f)
			g.Observe(f)
		}
	}
	for _, g := range w.in(wide) {
		g.Observe(holdWatch{w})
	}
}

// fickle is an observer that changes its interest at any time. It panics now and then, or ends the goroutine.
type fickle struct {
	interest atomic.Uint32
	told     atomic.Uint64
}

func (f *fickle) Interest(context.Context) gate.Interest { return gate.Interest(f.interest.Load()) }

func (f *fickle) OnEvent(ctx context.Context, e gate.Event) {
	e.Call.Resolved(ctx)
	switch n := f.told.Add(1); {
	case n%101 == 0:
		panic("an observer's panic")
	case n%211 == 0:
		runtime.Goexit()
	}
}

// holdWatch hears of the leases that are held too long, of each once.
type holdWatch struct{ world *world }

func (holdWatch) Interest(context.Context) gate.Interest {
	return gate.ObserveTrouble | gate.ObserveFixed
}

func (h holdWatch) OnEvent(_ context.Context, e gate.Event) {
	if e.Kind != gate.EventMaxHold {
		return
	}
	h.world.tooLong.Add(1)
	h.world.mu.Lock()
	again := h.world.reported[e.Call.RequestID]
	h.world.reported[e.Call.RequestID] = true
	h.world.mu.Unlock()
	if again {
		h.world.problem("the lease of call %s was reported twice", e.Call.RequestID)
	}
}
