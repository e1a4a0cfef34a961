// Package growth looks for what gets slower, or bigger, the more routes, gates and clients a server has seen.
package growth

import (
	"fmt"
	"slices"
	"time"

	"github.com/rpcgate/rpcgate/internal/bench/measure"
	"github.com/rpcgate/rpcgate/internal/bench/report"
)

const (
	flat      = 1.5 // is how much slower something may get and still be called flat
	scattered = 3   // is how much slower 10,000 routes at random may be, which are not all in the quickest caches
)

// Run measures all and adds it to the table.
func Run(lab *measure.Lab, table *report.Table) error {
	for _, growth := range []func(*measure.Lab) (report.Section, error){routes, gates, keys, memory} {
		section, err := growth(lab)
		if err != nil {
			return err
		}
		table.Add(section)
	}
	return nil
}

// compare times cases against the first of them, which all others must be as good as, but for those named.
func compare(lab *measure.Lab, cases []measure.Case, but ...string) []report.Row {
	base := cases[0].Name
	rows := report.Timings(lab.Time(plan(lab), cases), base)
	for _, c := range cases[1:] {
		if !slices.Contains(but, c.Name) {
			report.WantRatio(rows, c.Name, flat)
		}
	}
	return rows
}

// plan has samples that are long enough to go through 10,000 routes several times: so they are found in the caches that
// hold all of them.
func plan(lab *measure.Lab) measure.Plan { return lab.Plan(21, 50*time.Millisecond) }

// turns is a long list of the numbers below n, each about as often as any other, in an order that no cache or branch
// predictor guesses. The list is as long for every n, so that reading it costs the same.
func turns(n int) []int32 {
	list := make([]int32, 1<<16)
	x := uint64(88172645463325252)
	for i := range list {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		list[i] = int32(x % uint64(n))
	}
	return list
}

// names makes n strings.
func names(format string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(format, i)
	}
	return list
}
