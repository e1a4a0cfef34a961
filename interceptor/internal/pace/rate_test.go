package pace

import (
	"math"
	"testing"
	"time"
)

func TestTimeForBytesNeverOverflows(t *testing.T) {
	for _, test := range []struct {
		rate  Rate
		bytes int64
		want  time.Duration
	}{
		{DefaultRate(), 0, 5 * time.Second},
		{DefaultRate(), 1 << 10, 6 * time.Second},
		{DefaultRate(), 64 << 10, 69 * time.Second},
		{Rate{BytesPerSecond: 1}, math.MaxInt64, forever},
		{Rate{BytesPerSecond: math.MaxInt64, Grace: time.Second}, 64 << 10, time.Second},
		{Rate{BytesPerSecond: 1, Grace: math.MaxInt64}, 1, forever},
	} {
		if got := test.rate.TimeFor(test.bytes); got != test.want {
			t.Errorf("%d bytes at %+v may take %s, want %s", test.bytes, test.rate, got, test.want)
		}
	}
	if (Rate{}).Bounds() || !DefaultRate().Bounds() {
		t.Error("only the zero Rate is no bound")
	}
}
