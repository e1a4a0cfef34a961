package gatelog

import (
	"math/bits"
	"time"
)

// histogram counts waits in buckets. There is one for each microsecond up to 8,
// then eight for each doubling, up to four minutes: the upper end of a bucket is
// at most an eighth above its lower end.
type histogram [208]uint32

// bucketOf returns the bucket of d.
func bucketOf(d time.Duration) int {
	us := uint64(max(d.Microseconds(), 0))
	if us < 8 {
		return int(us)
	}
	shift := bits.Len64(us) - 4 // us>>shift has 4 bits, the first of them 1
	return min(8*shift+int(us>>shift), len(histogram{})-1)
}

// upperEnd returns the longest wait of a bucket, to the microsecond.
func upperEnd(bucket int) time.Duration {
	if bucket < 8 {
		return time.Duration(bucket) * time.Microsecond
	}
	shift := bucket/8 - 1
	return time.Duration(uint64(bucket-8*shift+1)<<shift-1) * time.Microsecond
}

func (h *histogram) add(d time.Duration) { h[bucketOf(d)]++ }

// quantile returns a wait that the given share of all waits did not exceed. It is
// the upper end of a bucket, so it is at most an eighth too long.
func (h *histogram) quantile(share float64) time.Duration {
	var total uint64
	for _, n := range h {
		total += uint64(n)
	}
	longer := uint64(float64(total) * (1 - share)) // how many waits may be longer
	for b := len(h) - 1; b >= 0; b-- {
		n := uint64(h[b])
		if n > longer {
			return upperEnd(b)
		}
		longer -= n
	}
	return 0
}
