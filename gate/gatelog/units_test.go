package gatelog

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestBucketsHaveNoGapsAndAreNarrow(t *testing.T) {
	for b := 1; b < len(histogram{}); b++ {
		first, last := upperEnd(b-1)+time.Microsecond, upperEnd(b)
		if bucketOf(first) != b || bucketOf(last) != b {
			t.Fatalf("bucket %d: %s is in %d, %s in %d", b, first, bucketOf(first), last, bucketOf(last))
		}
		if width := last - first + time.Microsecond; first >= 8*time.Microsecond && width*8 > first {
			t.Fatalf("bucket %d: %s to %s is wider than an eighth", b, first, last)
		}
	}
	if b := bucketOf(time.Hour); b != len(histogram{})-1 {
		t.Errorf("an hour is in bucket %d", b)
	}
	if b := bucketOf(-time.Hour); b != 0 {
		t.Errorf("a negative wait is in bucket %d", b)
	}
}

func TestQuantileIsAtMostAnEighthTooHigh(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		waits := make([]time.Duration, 1+rnd.IntN(300))
		var h histogram
		for i := range waits {
			waits[i] = time.Duration(rnd.ExpFloat64() * float64(20*time.Millisecond)).Truncate(time.Microsecond)
			h.add(waits[i])
		}
		slices.Sort(waits)
		exact := waits[len(waits)-1-int(float64(len(waits))*(1-0.95))]
		if got := h.quantile(0.95); got < exact || got > exact+exact/8 {
			t.Fatalf("p95 of %d waits: want %s to an eighth more, got %s", len(waits), exact, got)
		}
	}
	if got := new(histogram).quantile(0.95); got != 0 {
		t.Errorf("p95 of nothing: %s", got)
	}
}
