package report

import "github.com/rpcgate/rpcgate/internal/bench/measure"

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
		r.Ratio = t.NS.Over(baseNS).Spread()
		r.Bytes, r.Allocs = t.Bytes, t.Allocs
		r.Kept, r.Of = t.NS.Kept(), len(t.NS)
		rows[i] = r
	}
	return rows
}

// WantRatio gives the row of a name the target that its ratio is at most x.
func WantRatio(rows []Row, name string, x float64) {
	for i := range rows {
		if r := &rows[i]; r.Name == name {
			r.Targets = append(r.Targets, AtMost(x, "x", r.Ratio.Mid))
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
