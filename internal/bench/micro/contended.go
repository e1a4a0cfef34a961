package micro

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/adaptivelimiter"
	"github.com/failsafe-go/failsafe-go/bulkhead"
	"golang.org/x/sync/semaphore"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/internal/bench/measure"
	"github.com/rpcgate/rpcgate/internal/bench/report"
)

// budget is how long a caller waits at most. It never runs out here.
const budget = time.Second

// queuer makes a limiter whose callers wait. The function that it returns acquires a unit, calls hold and releases the
// unit.
type queuer struct {
	name string
	make func(limit int) (once func(hold func()))
}

const (
	xsyncWait = "x/sync Acquire, with WithTimeout"
	gateWait  = "rpcgate Acquire"
)

func queuers(callers int) []queuer {
	ctx := context.Background()
	return []queuer{
		{xsyncWait, func(limit int) func(func()) {
			sem := semaphore.NewWeighted(int64(limit))
			return func(hold func()) {
				limited, cancel := context.WithTimeout(ctx, budget)
				check(sem.Acquire(limited, 1))
				hold()
				sem.Release(1)
				cancel()
			}
		}},
		{"x/sync Acquire, waits forever", func(limit int) func(func()) {
			sem := semaphore.NewWeighted(int64(limit))
			return func(hold func()) {
				check(sem.Acquire(ctx, 1))
				hold()
				sem.Release(1)
			}
		}},
		{gateWait, func(limit int) func(func()) {
			g := newGate(int64(limit), gate.WithMaxWait(budget), gate.WithMaxWaiting(callers))
			return func(hold func()) {
				lease, err := g.Acquire(ctx, gate.Call{})
				check(err)
				hold()
				lease.Release()
			}
		}},
		{"channel, select with a timer", func(limit int) func(func()) {
			units := make(chan struct{}, limit)
			return func(hold func()) {
				timer := time.NewTimer(budget)
				select {
				case units <- struct{}{}:
				case <-timer.C:
					panic("waited too long")
				case <-ctx.Done():
					panic("no caller")
				}
				timer.Stop()
				hold()
				<-units
			}
		}},
		failsafeQueuer(), executorQueuer(), adaptiveQueuer(callers),
	}
}

func failsafeQueuer() queuer {
	return queuer{"failsafe bulkhead AcquirePermitWithMaxWait", func(limit int) func(func()) {
		wall := bulkhead.New[any](uint(limit))
		return func(hold func()) {
			check(wall.AcquirePermitWithMaxWait(context.Background(), budget))
			hold()
			wall.ReleasePermit()
		}
	}}
}

func executorQueuer() queuer {
	return queuer{"failsafe bulkhead, executor", func(limit int) func(func()) {
		executor := failsafe.With(bulkhead.NewBuilder[any](uint(limit)).WithMaxWaitTime(budget).Build())
		return func(hold func()) {
			check(executor.Run(func() error { hold(); return nil }))
		}
	}}
}

func adaptiveQueuer(callers int) queuer {
	return queuer{"failsafe adaptive limiter, fixed limit", func(limit int) func(func()) {
		n, factor := uint(limit), float64(2*callers)
		limiter := adaptivelimiter.NewBuilder[any]().WithLimits(n, n, n).WithQueueing(factor, factor).Build()
		return func(hold func()) {
			permit, err := limiter.AcquirePermitWithMaxWait(context.Background(), budget)
			check(err)
			hold()
			permit.Record()
		}
	}}
}

// contended is two cores that want the same unit. It is held for 0.2 us at a time without a yield, so a caller often
// finds it taken.
func contended(lab *measure.Lab, table *report.Table) {
	rows := queue(lab, lab.Plan(41, 10*time.Millisecond), 4, 1, func() {
		for range 200 {
			spinOnce()
		}
	})
	table.Add(report.Section{Title: "contended: 4 goroutines, limit 1, held 0.2 us; x of " + xsyncWait, Rows: rows})
}

// handOff is far more goroutines than units. A holder yields once, so that the others come and wait.
func handOff(lab *measure.Lab, table *report.Table) {
	for _, target := range []struct {
		limit int
		most  float64
	}{{1, 0.5}, {4, 1.05}} {
		rows := queue(lab, lab.Plan(41, 15*time.Millisecond), 64, target.limit, runtime.Gosched)
		report.WantRatio(rows, gateWait, target.most)
		report.WantAllocs(rows, gateWait, 0)
		title := fmt.Sprintf("hand-off: 64 goroutines, limit %d, holder yields once; x of %s", target.limit, xsyncWait)
		table.Add(report.Section{Title: title, Rows: rows})
	}
}

func queue(lab *measure.Lab, plan measure.Plan, callers, limit int, hold func()) []report.Row {
	var cases []measure.Case
	for _, q := range queuers(callers) {
		once := q.make(limit)
		cases = append(cases, measure.Case{Name: q.name, Run: func(n int) {
			for range n {
				once(hold)
			}
		}})
	}
	plan.Workers = callers
	return report.Timings(lab.Time(plan, cases), xsyncWait)
}

// spinOnce is about a nanosecond that the compiler does not drop.
//
//go:noinline
func spinOnce() {}
