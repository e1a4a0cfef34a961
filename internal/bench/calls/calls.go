// Package calls measures what the interceptors add to a call: by themselves, in nanoseconds, and as part of whole calls
// over loopback.
package calls

import (
	"context"
	"math"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/rpcgate/rpcgate/internal/bench/measure"
	"github.com/rpcgate/rpcgate/internal/bench/report"
	"github.com/rpcgate/rpcgate/internal/bench/telemetry"
)

// Run measures all and adds it to the table.
func Run(lab *measure.Lab, table *report.Table) error {
	if err := added(lab, table); err != nil {
		return err
	}
	if err := refused(lab, table); err != nil {
		return err
	}
	return whole(lab, table)
}

// pair is an operation with something in it, and the same without.
type pair struct {
	name          string
	with, without func(n int)
	targets       targets
}

// targets are those for what the one half of a pair takes more than the other. 0: none.
type targets struct{ ns, ratio, allocs float64 }

// added measures, inside of a live call of each kind, what the interceptors add to it.
func added(lab *measure.Lab, table *report.Table) error {
	var plain, watched []report.Row
	for _, live := range []func(func(*inside)) error{inGRPC, inConnectV1, inConnectV2, inHTTP} {
		err := live(func(i *inside) {
			plain = append(plain, differences(lab, yardstick(), i.pairs(toNobody()))[1:]...)
			sdk := telemetry.New()
			defer sdk.Close()
			name, ctx := i.host()
			floor := pairOf("floor: the same by hand, in "+name, toSDK(sdk), ctx, byHand(sdk.Meters), nothing)
			watched = append(watched, differences(lab, floor, i.pairs(toSDK(sdk)))...)
		})
		if err != nil {
			return err
		}
	}
	table.Add(report.Section{
		Title: "added to an accepted call, no SDK; x of an x/sync Acquire and Release, for scale", Rows: plain})
	table.Add(report.Section{
		Title: "added to an accepted call, SDK; x of the same metrics and span attributes, told by hand", Rows: watched})
	return nil
}

func nothing(context.Context) {}

// differences measures pairs: the rows are what with takes more than without. The first row is the base of the others.
func differences(lab *measure.Lab, base pair, pairs []pair) []report.Row {
	pairs = append([]pair{base}, pairs...)
	var cases []measure.Case
	for _, p := range pairs {
		cases = append(cases, measure.Case{Run: p.with}, measure.Case{Run: p.without})
	}
	timings := lab.Time(lab.Plan(31, 4*time.Millisecond), cases)
	more := func(i int) measure.Series { return timings[2*i].NS.Minus(timings[2*i+1].NS) }
	rows := make([]report.Row, len(pairs))
	for i, p := range pairs {
		r := report.NewRow(p.name, more(i).Median(), "ns")
		r.Bytes, r.Allocs = timings[2*i].Bytes-timings[2*i+1].Bytes, timings[2*i].Allocs-timings[2*i+1].Allocs
		r.Compare(more(i), more(0))
		if p.targets.ns > 0 {
			r.Targets = append(r.Targets, report.AtMost(p.targets.ns, "ns", r.Judged(r.Value)))
		}
		if p.targets.ratio > 0 {
			r.Targets = append(r.Targets, report.AtMost(p.targets.ratio, "x", r.Judged(r.Ratio.Mid)))
		}
		if p.targets.allocs > 0 {
			r.Targets = append(r.Targets, report.AtMost(p.targets.allocs, "allocs", math.Round(r.Allocs)))
		}
		rows[i] = r
	}
	return rows
}

// yardstick is something that everybody knows, to tell slow code from a slow machine.
func yardstick() pair {
	sem := semaphore.NewWeighted(1000)
	return pair{
		name: "x/sync Acquire and Release",
		with: func(n int) {
			for range n {
				check(sem.Acquire(context.Background(), 1))
				sem.Release(1)
			}
		},
		without: func(n int) {
			for range n {
			}
		},
	}
}
