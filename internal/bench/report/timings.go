package report

import (
	"math"

	"github.com/rpcgate/rpcgate/internal/bench/measure"
)

// Timings makes rows of timings, in nanoseconds, with ratios to the one named base.
func Timings(timings []measure.Timing, base string) []Row {
	var baseNS measure.Series
	for _, t := range timings {
		if t.Name == base {
			baseNS = t.NS
		}
	}
	rows := make([]Row, len(timings))
	for i, t := range timings {
		r := NewRow(t.Name, t.NS.Median(), "ns")
		r.Kept, r.Of = t.NS.Kept(), len(t.NS)
		r.Bytes, r.Allocs = t.Bytes, t.Allocs
		if base != "" {
			r.Compare(t.NS, baseNS)
		}
		rows[i] = r
	}
	return rows
}

// Compare fills in the ratio of a row whose samples are s. Kept are the pairs, then.
func (r *Row) Compare(s, base measure.Series) {
	pairs := s.Over(base)
	r.Ratio, r.Kept, r.Of = pairs.Spread(), pairs.Kept(), len(pairs)
}

// fewest are the samples that a target is judged by. With less it is not measured.
const fewest = 5

// Judged is x, or NaN if the row has too few samples to say.
func (r *Row) Judged(x float64) float64 {
	if r.Kept < min(fewest, r.Of) {
		return math.NaN()
	}
	return x
}

// WantRatio gives the row of a name the target that its ratio is at most x.
func WantRatio(rows []Row, name string, x float64) {
	for i := range rows {
		if r := &rows[i]; r.Name == name {
			r.Targets = append(r.Targets, AtMost(x, "x", r.Judged(r.Ratio.Mid)))
		}
	}
}

// WantAllocs gives the row of a name the target that it allocates at most n times.
func WantAllocs(rows []Row, name string, n float64) {
	for i := range rows {
		if r := &rows[i]; r.Name == name {
			r.Targets = append(r.Targets, AtMost(n, "allocs", float64(int(r.Allocs+0.5))))
		}
	}
}
