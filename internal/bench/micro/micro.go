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
	one := report.Timings(lab.Time(lab.Plan(41, 4*time.Millisecond), freeCases()), floorMutex)
	report.WantRatio(one, gateFree, 1.4)
	report.WantRatio(one, gatePolicy, 1.7)
	for _, name := range []string{gateFree, gateTry, gatePolicy, gateChain} {
		report.WantAllocs(one, name, 0)
	}
	table.Add(report.Section{Title: "acquire and release, 1 goroutine; x of " + floorMutex, Rows: one})

	plan := lab.Plan(81, 4*time.Millisecond)
	plan.Workers = 2
	two := report.Timings(lab.Time(plan, freeCases()), floorMutex)
	report.WantRatio(two, gateFree, 1.6)
	report.WantAllocs(two, gateFree, 0)
	table.Add(report.Section{Title: "acquire and release, 2 goroutines on 2 cores; x of " + floorMutex, Rows: two})
}

func newGate(limit int64, opts ...gate.Option) *gate.Gate {
	return gate.Must(gate.New("bench", limit, opts...))
}

func must[T any](x T, err error) T {
	check(err)
	return x
}

// check panics on an error: a case that does not do what it says must not give a number.
func check(err error) {
	if err != nil {
		panic(err)
	}
}
