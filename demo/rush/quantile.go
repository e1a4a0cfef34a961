package rush

import (
	"math"
	"slices"
	"time"
)

// quantile returns the shortest of the times such that at least the share q of them is not longer (nearest rank). It
// returns 0 if there are none.
func quantile(times []time.Duration, q float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(times))
	rank := int(math.Ceil(q * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}
