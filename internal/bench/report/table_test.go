package report

import (
	"math"
	"strings"
	"testing"

	"github.com/rpcgate/rpcgate/internal/bench/measure"
)

func TestTableLinesUpAndSaysWhatCameOfEachTarget(t *testing.T) {
	base := NewRow("base", 15.44, "ns")
	base.Ratio = measure.Spread{Low: 1, Mid: 1, High: 1}
	base.Bytes, base.Allocs = 0, 0
	base.Kept, base.Of = 9, 11
	fast := NewRow("a gate with a longer name", 1234.5, "ns")
	fast.Ratio = measure.Spread{Low: 0.6, Mid: 0.654, High: 12.34}
	fast.Bytes, fast.Allocs = 80.02, 0.98
	fast.Kept, fast.Of = 11, 11
	fast.Targets = []Target{AtMost(0.65, "x", 0.654), AtMost(0, "allocs", 1), AtLeast(0.97, "x", math.NaN())}
	big := NewRow("memory", 5000, "B")
	big.Detail = "heap 3000, stack 2000"
	var table Table
	table.Add(Section{Title: "free; x of base, which is a title longer than its column", Rows: []Row{base, fast}})
	table.Add(Section{Title: "waiting", Rows: []Row{big}})
	var b strings.Builder
	if err := table.Write(&b); err != nil {
		t.Fatal(err)
	}
	const want = `|                           |  median |     ratio [quartiles] | B/op | allocs |  kept | target                                                                 |
|---------------------------|--------:|----------------------:|-----:|-------:|------:|------------------------------------------------------------------------|
| **free; x of base, which is a title longer than its column** | | | | | | |
| base                      | 15.4 ns |    1.00x [1.00..1.00] |    0 |      0 |  9/11 |                                                                        |
| a gate with a longer name | 1234 ns |   0.65x [0.60..12.3]  |   80 |      1 | 11/11 | ≤ 0.65x met, 0.65x; ≤ 0 allocs MISSED, 1 allocs; ≥ 0.97x not measured |
| **waiting** | | | | | | |
| memory                    |  5000 B | heap 3000, stack 2000 |      |        |       |                                                                        |

Targets: 1 met, 1 missed, 1 not measured.

| what                            | target     | result              |
|---------------------------------|------------|---------------------|
| free: a gate with a longer name | ≤ 0.65x    | met, 0.65x          |
| free: a gate with a longer name | ≤ 0 allocs | MISSED, 1 allocs |
| free: a gate with a longer name | ≥ 0.97x    | not measured        |
`
	if got := b.String(); words(got) != words(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for table := range strings.SplitSeq(b.String(), "Targets") {
		width := 0
		for line := range strings.Lines(table) {
			if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "| **") {
				continue
			}
			if n := len([]rune(line)); width == 0 {
				width = n
			} else if n != width {
				t.Errorf("a line is %d wide, the first one %d:\n%s", n, width, table)
			}
		}
	}
}

func TestTableWithoutTargetsSaysNothingOfThem(t *testing.T) {
	var table Table
	table.Add(Section{Title: "waiting", Rows: []Row{NewRow("memory", 5000, "B")}})
	var b strings.Builder
	if err := table.Write(&b); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "Targets") {
		t.Errorf("targets of a table that has none:\n%s", b.String())
	}
}

// words is a text without its padding.
func words(s string) string {
	s = strings.ReplaceAll(s, "-", "")
	return strings.Join(strings.Fields(s), " ")
}

func TestTargetIsJudgedAsItIsPrinted(t *testing.T) {
	for _, c := range []struct {
		target       Target
		verdict      Verdict
		text, result string
	}{
		{AtMost(0.65, "x", 0.6549), Met, "≤ 0.65x", "met, 0.65x"},
		{AtMost(0.65, "x", 0.656), Missed, "≤ 0.65x", "MISSED, 0.66x"},
		{AtMost(60, "ns", 60), Met, "≤ 60 ns", "met, 60 ns"},
		{AtMost(60, "ns", 75.31), Missed, "≤ 60 ns", "MISSED, 75.3 ns"},
		{AtMost(12, "%", 12.04), Met, "≤ 12 %", "met, 12.0 %"},
		{AtMost(2048, "B", 2049), Missed, "≤ 2048 B", "MISSED, 2049 B"},
		{AtLeast(0.97, "x", 0.966), Met, "≥ 0.97x", "met, 0.97x"},
		{AtLeast(0.97, "x", 0.94), Missed, "≥ 0.97x", "MISSED, 0.94x"},
		{AtMost(1, "x", math.NaN()), NotMeasured, "≤ 1x", "not measured"},
	} {
		if got := c.target.Verdict(); got != c.verdict {
			t.Errorf("%+v: %s, want %s", c.target, got, c.verdict)
		}
		if got := c.target.String(); got != c.text {
			t.Errorf("%+v: %q, want %q", c.target, got, c.text)
		}
		if got := c.target.Result(); got != c.result {
			t.Errorf("%+v: %q, want %q", c.target, got, c.result)
		}
	}
}

func TestTimingsAreComparedInPairsWithTheBase(t *testing.T) {
	nan := math.NaN()
	rows := Timings([]measure.Timing{
		{Name: "base", NS: measure.Series{10, 20, 30, 10, 20, 30}, Allocs: 2},
		{Name: "half", NS: measure.Series{5, 10, nan, 5, 10, 15}, Bytes: 8, Allocs: 0.4},
	}, "base")
	WantRatio(rows, "half", 0.5)
	WantAllocs(rows, "half", 0)
	half := rows[1]
	if half.Ratio.Mid != 0.5 || half.Kept != 5 || half.Of != 6 || half.Value != 10 {
		t.Errorf("got %+v", half)
	}
	if len(half.Targets) != 2 || half.Targets[0].Verdict() != Met || half.Targets[1].Verdict() != Met {
		t.Errorf("targets: %v", half.Targets)
	}
	if len(rows[0].Targets) != 0 {
		t.Errorf("the base has targets: %v", rows[0].Targets)
	}
}

func TestFewPairsAreNotJudged(t *testing.T) {
	nan := math.NaN()
	base := measure.Series{1, 1, 1, 1, 1, 1, 1, 1}
	for _, c := range []struct {
		s       measure.Series
		base    measure.Series
		ratio   float64
		pairs   int
		nothing bool
	}{
		{measure.Series{2, 2, 2, 2, 2, nan, nan, nan}, base, 2, 5, false},
		{measure.Series{2, 2, 2, 2, nan, nan, nan, nan}, base, 2, 4, true},
		{measure.Series{3, 3}, base[:2], 3, 2, false}, // a quick run
	} {
		r := NewRow("", 0, "")
		r.Compare(c.s, c.base)
		if r.Ratio.Mid != c.ratio || r.Kept != c.pairs || math.IsNaN(r.Judged(r.Ratio.Mid)) != c.nothing {
			t.Errorf("%v: ratio %v of %d pairs, judged %v", c.s, r.Ratio.Mid, r.Kept, r.Judged(r.Ratio.Mid))
		}
	}
}
