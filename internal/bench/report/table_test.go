package report

import (
	"math"
	"strings"
	"testing"

	"github.com/rpcgate/rpcgate/internal/bench/measure"
)

func TestTableLinesUpAndSaysWhatWasMissed(t *testing.T) {
	base := NewRow("base", 15.44, "ns")
	base.Ratio = measure.Spread{Low: 1, Mid: 1, High: 1}
	base.Bytes, base.Allocs = 0, 0
	base.Kept, base.Of = 9, 11
	fast := NewRow("a gate with a longer name", 1234.5, "ns")
	fast.Ratio = measure.Spread{Low: 0.6, Mid: 0.654, High: 12.34}
	fast.Bytes, fast.Allocs = 80.02, 0.98
	fast.Kept, fast.Of = 11, 11
	fast.Targets = []Target{AtMost(0.65, "x", 0.654), AtMost(0, "allocs", 1), AtLeast(0.97, "x", math.NaN())}
	var table Table
	table.Add(Section{Title: "free; x of base, which is a title longer than its column", Rows: []Row{base, fast}})
	var b strings.Builder
	if err := table.Write(&b); err != nil {
		t.Fatal(err)
	}
	const want = `|                           |  median |   ratio [quartiles] | B/op | allocs |  kept | target                                                     |
|---------------------------|--------:|--------------------:|-----:|-------:|------:|------------------------------------------------------------|
| **free; x of base, which is a title longer than its column** | | | | | | |
| base                      | 15.4 ns |  1.00x [1.00..1.00] |    0 |      0 |  9/11 |                                                            |
| a gate with a longer name | 1234 ns | 0.65x [0.60..12.3]  |   80 |      1 | 11/11 | ≤ 0.65x ok; ≤ 0 allocs MISSED, 1.00; ≥ 0.97x not measured |

Targets of DESIGN 9 met: 1 of 3.
- free; x of base, which is a title longer than its column, a gate with a longer name: ≤ 0 allocs MISSED, 1.00
- free; x of base, which is a title longer than its column, a gate with a longer name: ≥ 0.97x not measured
`
	if got := b.String(); words(got) != words(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	width := 0
	for line := range strings.Lines(b.String()) {
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "| **") {
			continue
		}
		if n := len([]rune(line)); width == 0 {
			width = n
		} else if n != width {
			t.Errorf("a line is %d wide, the first one %d:\n%s", n, width, b.String())
		}
	}
}

// words is a text without its padding.
func words(s string) string {
	s = strings.ReplaceAll(s, "-", "")
	return strings.Join(strings.Fields(s), " ")
}

func TestTargetIsJudgedAsItIsPrinted(t *testing.T) {
	for _, c := range []struct {
		target Target
		met    bool
		text   string
	}{
		{AtMost(0.65, "x", 0.6549), true, "≤ 0.65x ok"},
		{AtMost(0.65, "x", 0.656), false, "≤ 0.65x MISSED, 0.66"},
		{AtMost(60, "ns", 60), true, "≤ 60 ns ok"},
		{AtMost(60, "ns", 75.31), false, "≤ 60 ns MISSED, 75.3"},
		{AtLeast(0.97, "x", 0.966), true, "≥ 0.97x ok"},
		{AtLeast(0.97, "x", 0.94), false, "≥ 0.97x MISSED, 0.94"},
		{AtMost(1, "x", math.NaN()), false, "≤ 1x not measured"},
	} {
		if got := c.target.Met(); got != c.met {
			t.Errorf("%+v: met: %v", c.target, got)
		}
		if got := c.target.String(); got != c.text {
			t.Errorf("%+v: %q, want %q", c.target, got, c.text)
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
	if len(half.Targets) != 2 || !half.Targets[0].Met() || !half.Targets[1].Met() {
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
