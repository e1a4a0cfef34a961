package gatelog

import (
	"math/bits"
	"time"
)

// histogram counts waits in buckets that are at most an eighth wide: one for
// each microsecond up to 8, then eight for each doubling, up to four minutes.
type histogram [208]uint32

// bucketOf is the bucket that d belongs to.
func bucketOf(d time.Duration) int {
	us := uint64(max(d.Microseconds(), 0))
	if us < 8 {
		return int(us)
	}
	shift := bits.Len64(us) - 4 // what is left are 4 bits, the first of them 1
	return min(8*shift+int(us>>shift), len(histogram{})-1)
}

// upperEnd is the longest wait that belongs to a bucket, to the microsecond.
func upperEnd(bucket int) time.Duration {
	if bucket < 8 {
		return time.Duration(bucket) * time.Microsecond
	}
	shift := bucket/8 - 1
	return time.Duration(uint64(bucket-8*shift+1)<<shift-1) * time.Microsecond
}

func (h *histogram) add(d time.Duration) { h[bucketOf(d)]++ }

// quantile is a wait that the given share of all waits did not exceed: the upper
// end of its bucket, so at most an eighth too long.
func (h *histogram) quantile(share float64) time.Duration {
	var total uint64
	for _, n := range h {
		total += uint64(n)
	}
	below := uint64(float64(total) * (1 - share)) // that many may be longer
	for b := len(h) - 1; b >= 0; b-- {
		if n := uint64(h[b]); n > below {
			return upperEnd(b)
		} else {
			below -= n
		}
	}
	return 0
}
