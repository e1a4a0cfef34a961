package measure

import (
	"math"
	"slices"
	"testing"
)

func TestSpreadIsMedianAndQuartilesOfWhatWasKept(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name string
		s    Series
		want Spread
		kept int
	}{
		{"none", nil, Spread{nan, nan, nan}, 0},
		{"all dropped", Series{nan, nan}, Spread{nan, nan, nan}, 0},
		{"one", Series{7}, Spread{7, 7, 7}, 1},
		{"two", Series{1, 2}, Spread{1.25, 1.5, 1.75}, 2},
		{"odd, unsorted", Series{5, 1, 3, 2, 4}, Spread{2, 3, 4}, 5},
		{"even", Series{1, 2, 3, 4}, Spread{1.75, 2.5, 3.25}, 4},
		{"some dropped", Series{nan, 5, 1, nan, 3, 2, 4, math.Inf(1)}, Spread{2, 3, 4}, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := c.s.Spread()
			if !same(got.Low, c.want.Low) || !same(got.Mid, c.want.Mid) || !same(got.High, c.want.High) {
				t.Errorf("Spread() = %v, want %v", got, c.want)
			}
			if !same(c.s.Median(), c.want.Mid) {
				t.Errorf("Median() = %v, want %v", c.s.Median(), c.want.Mid)
			}
			if c.s.Kept() != c.kept {
				t.Errorf("Kept() = %d, want %d", c.s.Kept(), c.kept)
			}
		})
	}
}

func TestSpreadLeavesTheOrderOfTheRounds(t *testing.T) {
	s := Series{3, 1, 2}
	s.Spread()
	if !slices.Equal(s, Series{3, 1, 2}) {
		t.Errorf("the series became %v: its pairs are lost", s)
	}
}

func TestPairsAreOfOneRound(t *testing.T) {
	nan := math.NaN()
	x, base := Series{10, 40, nan, 30}, Series{10, 20, 10, nan}
	// The medians alone would say 30/10 = 3.
	if got, want := x.Over(base), (Series{1, 2, nan, nan}); !sameSeries(got, want) {
		t.Errorf("Over = %v, want %v", got, want)
	}
	if got, want := x.Minus(base), (Series{0, 20, nan, nan}); !sameSeries(got, want) {
		t.Errorf("Minus = %v, want %v", got, want)
	}
	if got := x.Over(nil); len(got) != 0 {
		t.Errorf("Over(nil) = %v, want none", got)
	}
}

func TestLeastOfPortionsIsOneSample(t *testing.T) {
	for _, c := range []struct{ s, want Series }{
		{Series{5, 2, 3, 9, 7, 8}, Series{3, 2}},
		{Series{5, 2, 3}, Series{2}},
		{Series{}, nil},
	} {
		if got := c.s.leastOf(3); !sameSeries(got, c.want) {
			t.Errorf("the least of 3 of %v: %v, want %v", c.s, got, c.want)
		}
	}
}

func TestInterleaveRunsEachCaseOnceARoundInChangingOrder(t *testing.T) {
	var ran []int
	samples := make([]func() float64, 3)
	for i := range samples {
		samples[i] = func() float64 {
			ran = append(ran, i)
			return float64(10*len(ran) + i)
		}
	}
	series := Interleave(4, samples)
	if want := []int{0, 1, 2, 0, 2, 1, 2, 0, 1, 2, 1, 0}; !slices.Equal(ran, want) {
		t.Errorf("ran %v, want %v", ran, want)
	}
	for i, s := range series {
		if len(s) != 4 {
			t.Errorf("case %d has %d rounds, want 4", i, len(s))
		}
		for _, x := range s {
			if int(x)%10 != i {
				t.Errorf("case %d has a sample of case %d", i, int(x)%10)
			}
		}
	}
}

func same(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) < 1e-9 }

func sameSeries(a, b Series) bool { return slices.EqualFunc(a, b, same) }
