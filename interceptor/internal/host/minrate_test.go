package host

import (
	"math"
	"testing"
	"time"
)

func TestTimeForBytesNeverOverflows(t *testing.T) {
	for _, test := range []struct {
		rate  MinRate
		bytes int64
		want  time.Duration
	}{
		{defaultMinRate(), 0, 5 * time.Second},
		{defaultMinRate(), 1 << 10, 6 * time.Second},
		{defaultMinRate(), 64 << 10, 69 * time.Second},
		{MinRate{BytesPerSecond: 1}, math.MaxInt64, math.MaxInt64},
		{MinRate{BytesPerSecond: math.MaxInt64, Grace: time.Second}, 64 << 10, time.Second},
		{MinRate{BytesPerSecond: 1, Grace: math.MaxInt64}, 1, math.MaxInt64},
	} {
		if got := test.rate.TimeFor(test.bytes); got != test.want {
			t.Errorf("%d bytes at %+v may take %s, want %s", test.bytes, test.rate, got, test.want)
		}
	}
	if (MinRate{}).Bounds() || !defaultMinRate().Bounds() {
		t.Error("only the zero MinRate is no bound")
	}
}
