package gatelog

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
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

func TestClean(t *testing.T) {
	long := strings.Repeat("é", 200)
	for _, tc := range []struct{ in, want string }{
		{"", ""},
		{"/orders.v1.OrderService/ListOpen", "/orders.v1.OrderService/ListOpen"},
		{"a\nb\tc\x00", "a\uFFFDb\uFFFDc\uFFFD"},
		{"a\xffb", "a\uFFFDb"},
		{long, long[:256] + "…"},
		{"a" + long, "a" + long[:254] + "…"}, // not in the middle of a rune
		{strings.Repeat("\xff", 300), strings.Repeat("\uFFFD", 256) + "…"},
	} {
		if got := clean(tc.in); got != tc.want {
			t.Errorf("clean(%q):\n got %q\nwant %q", tc.in, got, tc.want)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("plain", 3)
	f.Add("\xe2\x82", 100)
	f.Fuzz(func(t *testing.T, s string, times int) {
		s = strings.Repeat(s, min(max(times, 0), 300))
		got := clean(s)
		if !utf8.ValidString(got) || strings.ContainsAny(got, "\n\r\x1b") || len(got) > 3*maxString+len("…") {
			t.Errorf("clean(%q) = %q", s, got)
		}
	})
}
