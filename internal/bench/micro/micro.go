// Package micro times gates and other limiters by themselves, without calls around them.
package micro

import (
	"time"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/internal/bench/measure"
	"github.com/rpcgate/rpcgate/internal/bench/report"
)

// Run measures all and adds it to the table.
func Run(lab *measure.Lab, table *report.Table) error {
	free(lab, table)
	contended(lab, table)
	handOff(lab, table)
	refusal(lab, table)
	return nil
}

func free(lab *measure.Lab, table *report.Table) {
	for _, f := range []struct {
		title   string
		workers int
		rounds  int
	}{
		{"acquire and release, room, 1 goroutine; x of x/sync Acquire", 0, 41},
		{"acquire and release, room, 2 goroutines on 2 cores; x of x/sync Acquire", 2, 81},
	} {
		plan := lab.Plan(f.rounds, 4*time.Millisecond)
		plan.Workers = f.workers
		rows := report.Timings(lab.Time(plan, freeCases()), xsyncFree)
		report.WantRatio(rows, gateFree, 0.65)
		report.WantAllocs(rows, gateFree, 0)
		table.Add(report.Section{Title: f.title, Rows: rows})
	}
}

func newGate(limit int64, opts ...gate.Option) *gate.Gate {
	return gate.Must(gate.New("bench", limit, opts...))
}

func must[T any](x T, err error) T {
	check(err)
	return x
}

// check panics on an error: a case that does something else than it says must not give a number.
func check(err error) {
	if err != nil {
		panic(err)
	}
}
