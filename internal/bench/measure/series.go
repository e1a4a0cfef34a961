package measure

import (
	"math"
	"slices"
)

// Series is the samples of one case, one a round. NaN stands for a sample that was dropped.
type Series []float64

// Spread is a median between its quartiles. All are NaN if nothing was kept.
type Spread struct{ Low, Mid, High float64 }

// Kept is the number of samples that were not dropped.
func (s Series) Kept() int { return len(s.sorted()) }

// Median is that of the kept samples.
func (s Series) Median() float64 { return quantile(s.sorted(), 0.5) }

// Spread is that of the kept samples.
func (s Series) Spread() Spread {
	kept := s.sorted()
	return Spread{Low: quantile(kept, 0.25), Mid: quantile(kept, 0.5), High: quantile(kept, 0.75)}
}

// Over divides the samples by those of base of the same round. Where one of the two was dropped, so is the pair.
func (s Series) Over(base Series) Series {
	return s.pair(base, func(x, b float64) float64 { return x / b })
}

// Minus subtracts the samples of base of the same round.
func (s Series) Minus(base Series) Series {
	return s.pair(base, func(x, b float64) float64 { return x - b })
}

func (s Series) pair(base Series, f func(x, b float64) float64) Series {
	pairs := make(Series, min(len(s), len(base)))
	for i := range pairs {
		pairs[i] = f(s[i], base[i]) // NaN if either is
	}
	return pairs
}

// leastOf makes one sample of each n portions, the least of them. Those of a sample lie as far apart as they can.
func (s Series) leastOf(n int) Series {
	least := slices.Clone(s[:len(s)/n])
	for i, portion := range s {
		at := i % len(least)
		least[at] = min(least[at], portion)
	}
	return least
}

func (s Series) sorted() []float64 {
	kept := slices.DeleteFunc(slices.Clone(s), func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) })
	slices.Sort(kept)
	return kept
}

// quantile interpolates between the two nearest of the sorted values.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	at := q * float64(len(sorted)-1)
	below := int(at)
	if below == len(sorted)-1 {
		return sorted[below]
	}
	return sorted[below] + (at-float64(below))*(sorted[below+1]-sorted[below])
}

// Interleave takes a sample of each case in every round, so that a machine that gets slower or faster does so for all
// of them. Each round begins with another case and every second one goes backwards: nobody always runs after the same
// neighbour. A sample says NaN for itself if it is to be dropped.
func Interleave(rounds int, samples []func() float64) []Series {
	series := make([]Series, len(samples))
	for i := range series {
		series[i] = make(Series, rounds)
	}
	for round := range rounds {
		for _, i := range order(round, len(samples)) {
			series[i][round] = samples[i]()
		}
	}
	return series
}

func order(round, n int) []int {
	turn := make([]int, n)
	for i := range turn {
		turn[i] = (i + round) % n
	}
	if round%2 == 1 {
		slices.Reverse(turn)
	}
	return turn
}
