// Package goodput runs a database of 20 connections under more load than it can take, in real time, with and without a
// gate, and looks at what callers get.
package goodput

import (
	"fmt"
	"time"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/internal/bench/measure"
	"github.com/rpcgate/rpcgate/internal/bench/report"
)

const title = "goodput: pool of 20, service 7.5 ms (exponential), deadline 500 ms, Poisson arrivals"

// newGate has the right limit and is as it comes otherwise.
func newGate() gate.Admitter { return gate.Must(gate.New("pool", poolSize)) }

// Run measures all and adds it to the table.
func Run(lab *measure.Lab, table *report.Table) error {
	rounds, length := 3, 3*time.Second
	if lab.Quick() {
		rounds, length = 1, 400*time.Millisecond
	}
	overload(table, rounds, length)
	spikes(table, length/3)
	return nil
}

// load is what one load of the rounds came to.
type load struct {
	factor               float64
	goodput              measure.Series // calls in time per second
	p50, p99, refusedP50 measure.Series // ms
}

func (l *load) add(r result) {
	l.goodput = append(l.goodput, r.goodput())
	l.p50 = append(l.p50, r.latency(0.5))
	l.p99 = append(l.p99, r.latency(0.99))
	l.refusedP50 = append(l.refusedP50, r.refusal(0.5))
}

func overload(table *report.Table, rounds int, length time.Duration) {
	capacity, unloaded, ungated := new(load), &load{factor: 0.5}, &load{factor: 2}
	gated := []*load{{factor: 2}, {factor: 5}, {factor: 10}}
	for round := range uint64(rounds) {
		perSecond := closedLoop(round, length)
		capacity.goodput = append(capacity.goodput, perSecond)
		arrive := func(l *load, a gate.Admitter) {
			l.add(openLoop(round, a, steady(l.factor*perSecond, length)))
		}
		arrive(unloaded, newGate())
		arrive(ungated, nil)
		for _, l := range gated {
			arrive(l, newGate())
		}
	}
	rows := []report.Row{
		row("capacity (20 callers, one after the other)", "/s", capacity.goodput, capacity.goodput),
		row("no gate, 2x", "/s", ungated.goodput, capacity.goodput),
		row("unloaded, p50", "ms", unloaded.p50, unloaded.p50),
		row("unloaded, p99", "ms", unloaded.p99, unloaded.p99),
	}
	for _, l := range gated {
		name := fmt.Sprintf("gate of 20, %gx", l.factor)
		good := row(name, "/s", l.goodput, capacity.goodput)
		good.Targets = []report.Target{report.AtLeast(0.99, "x", good.Ratio.Mid)}
		p50 := row(name+", p50 of accepted", "ms", l.p50, unloaded.p50)
		p50.Targets = []report.Target{report.AtMost(2.5, "x", p50.Ratio.Mid)}
		p99 := row(name+", p99 of accepted", "ms", l.p99, unloaded.p99)
		p99.Targets = []report.Target{report.AtMost(1.5, "x", p99.Ratio.Mid)}
		refused := report.NewRow(name+", refused after (median)", l.refusedP50.Median(), "ms")
		refused.Targets = []report.Target{report.AtMost(2, "ms", refused.Value)}
		rows = append(rows, good, p50, p99, refused)
	}
	table.Add(report.Section{Title: title + "; x of capacity, or of unloaded", Rows: rows})
}

func row(name, unit string, s, base measure.Series) report.Row {
	r := report.NewRow(name, s.Median(), unit)
	r.Compare(s, base)
	return r
}

// spikes is 0.8 of capacity, then 5 times as much for two seconds, then 0.8 again.
func spikes(table *report.Table, second time.Duration) {
	perSecond := closedLoop(0, 3*second)
	plan := []phase{{0.8 * perSecond, 2 * second}, {5 * perSecond, 2 * second}, {0.8 * perSecond, second}, {0.8 * perSecond, second}}
	var rows []report.Row
	for _, c := range []struct {
		name string
		a    gate.Admitter
		want float64
	}{{"no gate", nil, 0}, {"gate of 20", newGate(), 99}} {
		r := openLoop(0, c.a, plan)
		before := report.NewRow(c.name+", before the spike", 100*r.inTime(0), "%")
		after := report.NewRow(c.name+", first second after it", 100*r.inTime(2), "%")
		if c.want > 0 {
			after.Targets = []report.Target{report.AtLeast(c.want, "%", after.Value)}
		}
		next := report.NewRow(c.name+", second second after it", 100*r.inTime(3), "%")
		rows = append(rows, before, after, next)
	}
	table.Add(report.Section{
		Title: "spike: 2 s at 5x of capacity in between of 0.8x; arrivals of the second answered in time", Rows: rows})
}
