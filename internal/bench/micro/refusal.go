package micro

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/adaptivelimiter"
	"github.com/failsafe-go/failsafe-go/bulkhead"
	"golang.org/x/sync/semaphore"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/internal/bench/measure"
	"github.com/rpcgate/rpcgate/internal/bench/report"
)

const (
	floorCompare = "floor: mutex, compare"
	gateLook     = "rpcgate, the decision alone"
)

// refusal is the cost of a rejection without a wait.
func refusal(lab *measure.Lab, table *report.Table) {
	for _, f := range []struct {
		title   string
		workers int
	}{
		{"rejection without a wait, 1 goroutine; x of " + floorCompare, 0},
		{"rejection without a wait, 2 goroutines on 2 cores; x of " + floorCompare, 2},
	} {
		plan := lab.Plan(31, 4*time.Millisecond)
		plan.Workers = f.workers
		cases := slices.Concat(gateRefusals(), semaphoreRefusals(), peerRefusals())
		rows := report.Timings(lab.Time(plan, cases), floorCompare)
		report.WantRatio(rows, gateLook, 1.5)
		table.Add(report.Section{Title: f.title, Rows: rows})
	}
}

// gateRefusals build the error, too: a gate has no other answer. The cost of the decision alone shows in a dry run, in
// which RefuseEarly decides as always but rejects nobody. Of the others only the last makes the request id that every
// rejection has.
func gateRefusals() []measure.Case {
	ctx := context.Background()
	full := newGate(1, gate.WithMaxWait(0))
	must(full.TryAcquire(gate.Call{}))
	dry := newGate(1, gate.WithMaxWait(0), gate.WithDryRun())
	must(dry.TryAcquire(gate.Call{}))
	known := gate.Call{Route: "/orders.v1.OrderService/ListOpen", RequestID: "0123456789abcdef"}
	var mu sync.Mutex
	held, refused := 1, 0
	return []measure.Case{
		{Name: floorCompare, Run: func(n int) {
			for range n {
				mu.Lock()
				if held >= 1 {
					refused++
				}
				mu.Unlock()
			}
		}},
		{Name: gateLook, Run: func(n int) {
			for range n {
				check(dry.RefuseEarly(ctx, known))
			}
		}},
		{Name: "rpcgate RefuseEarly, error built", Run: func(n int) {
			for range n {
				refuse(full.RefuseEarly(ctx, known) != nil)
			}
		}},
		{Name: "rpcgate Acquire, error built", Run: func(n int) {
			for range n {
				_, err := full.Acquire(ctx, known)
				refuse(err != nil)
			}
		}},
		{Name: "rpcgate Acquire, error and request id built", Run: func(n int) {
			for range n {
				_, err := full.Acquire(ctx, gate.Call{})
				refuse(err != nil)
			}
		}},
	}
}

func semaphoreRefusals() []measure.Case {
	sem := semaphore.NewWeighted(1)
	refuse(sem.TryAcquire(1))
	units := make(chan struct{}, 1)
	units <- struct{}{}
	return []measure.Case{
		{Name: "x/sync TryAcquire", Run: func(n int) {
			for range n {
				refuse(!sem.TryAcquire(1))
			}
		}},
		{Name: "channel, select with default", Run: func(n int) {
			for range n {
				select {
				case units <- struct{}{}:
					panic("let in")
				default:
				}
			}
		}},
	}
}

func peerRefusals() []measure.Case {
	wall := bulkhead.New[any](1)
	refuse(wall.TryAcquirePermit())
	executor := failsafe.With(wall)
	adaptive := adaptivelimiter.NewBuilder[any]().WithLimits(1, 1, 1).Build()
	adaptive.TryAcquirePermit()
	limiter, shedder := fullBBR(), fullShedder()
	nothing := func() error { return nil }
	return []measure.Case{
		{Name: "failsafe bulkhead TryAcquirePermit", Run: func(n int) {
			for range n {
				refuse(!wall.TryAcquirePermit())
			}
		}},
		{Name: "failsafe bulkhead, executor", Run: func(n int) {
			for range n {
				refuse(executor.Run(nothing) != nil)
			}
		}},
		{Name: "failsafe adaptive limiter", Run: func(n int) {
			for range n {
				_, ok := adaptive.TryAcquirePermit()
				refuse(!ok)
			}
		}},
		{Name: "aegis BBR, CPU trigger always on", Run: func(n int) {
			for range n {
				_, err := limiter.Allow()
				refuse(err != nil)
			}
		}},
		{Name: "go-zero shedder, CPU trigger always on", Run: func(n int) {
			for range n {
				_, err := shedder.Allow()
				refuse(err != nil)
			}
		}},
	}
}

// refuse panics if a case that is about rejections was let in.
func refuse(refused bool) {
	if !refused {
		panic("let in")
	}
}
