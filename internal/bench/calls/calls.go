// Package calls measures what the interceptors add to a call: by themselves, in nanoseconds, and as part of whole calls
// over loopback.
package calls

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/rpcgate/rpcgate/internal/bench/measure"
	"github.com/rpcgate/rpcgate/internal/bench/report"
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
	// ns and allocs are the targets for the difference; 0: none.
	ns, allocs float64
}

// added measures, inside of a live call of each kind, what the interceptors add to it.
func added(lab *measure.Lab, table *report.Table) error {
	var plain, watched []report.Row
	for _, live := range []func(func(*inside)) error{inGRPC, inConnectV1, inConnectV2, inHTTP} {
		err := live(func(i *inside) {
			plain = append(plain, differences(lab, i.pairs(untold()))...)
			told := newTelemetry()
			defer told.close()
			watched = append(watched, differences(lab, i.pairs(told))...)
		})
		if err != nil {
			return err
		}
	}
	table.Add(report.Section{
		Title: "added to an accepted call by the interceptor alone, no SDK; x of an x/sync Acquire, for scale", Rows: plain})
	table.Add(report.Section{
		Title: "the same with OpenTelemetry's SDK: metrics, and attributes on a span that is recorded", Rows: watched})
	return nil
}

// differences measures pairs: the rows are what with takes more than without.
func differences(lab *measure.Lab, pairs []pair) []report.Row {
	cases := []measure.Case{yardstick()}
	for _, p := range pairs {
		cases = append(cases, measure.Case{Run: p.with}, measure.Case{Run: p.without})
	}
	timings := lab.Time(lab.Plan(31, 4*time.Millisecond), cases)
	rows := make([]report.Row, len(pairs))
	for i, p := range pairs {
		with, without := timings[1+2*i], timings[2+2*i]
		more := with.NS.Minus(without.NS)
		r := report.NewRow(p.name, more.Median(), "ns")
		r.Bytes, r.Allocs = with.Bytes-without.Bytes, with.Allocs-without.Allocs
		r.Compare(more, timings[0].NS)
		if p.ns > 0 {
			r.Targets = append(r.Targets, report.AtMost(p.ns, "ns", r.Judged(r.Value)))
		}
		if p.allocs > 0 {
			r.Targets = append(r.Targets, report.AtMost(p.allocs, "allocs", float64(int(r.Allocs+0.5))))
		}
		rows[i] = r
	}
	return rows
}

// yardstick is something that everybody knows, to tell slow code from a slow machine.
func yardstick() measure.Case {
	sem := semaphore.NewWeighted(1000)
	return measure.Case{Run: func(n int) {
		for range n {
			check(sem.Acquire(context.Background(), 1))
			sem.Release(1)
		}
	}}
}
