package gate

import (
	"math"
	"testing"
	"time"
)

// TestRoundingKeepsTheMean tries all the roundings that can be drawn.
func TestRoundingKeepsTheMean(t *testing.T) {
	const ms = time.Millisecond
	for _, delay := range []time.Duration{
		1000 * ms, 1001 * ms, 1300 * ms, 1500 * ms, 1999 * ms, 2000 * ms, 2001 * ms, 7250 * ms, MaxRetryDelay - ms, MaxRetryDelay,
	} {
		floor, ceil := int64(delay/time.Second), int64((delay+time.Second-1)/time.Second)
		var sum time.Duration
		for roundedBy := time.Duration(0); roundedBy < time.Second; roundedBy += ms {
			r := Rejection{RetryDelay: delay, roundedBy: roundedBy}
			got := r.RetrySeconds()
			if got < floor || got > ceil || r.RetrySeconds() != got {
				t.Fatalf("%s is %d s and then %d s, want %d or %d", delay, got, r.RetrySeconds(), floor, ceil)
			}
			sum += time.Duration(got) * time.Second
		}
		if mean := sum / 1000; mean != delay {
			t.Errorf("the mean for %s is %s", delay, mean)
		}
	}
}

// TestRoundingIsTheSameForWholeMilliseconds has a delay that other carriers round up to
// milliseconds.
func TestRoundingIsTheSameForWholeMilliseconds(t *testing.T) {
	for roundedBy := time.Duration(0); roundedBy < time.Second; roundedBy += time.Millisecond {
		exact := Rejection{RetryDelay: 1299*time.Millisecond + 1, roundedBy: roundedBy}
		told := Rejection{RetryDelay: 1300 * time.Millisecond, roundedBy: roundedBy}
		if exact.RetrySeconds() != told.RetrySeconds() {
			t.Fatalf("less %s: %d s and %d s", roundedBy, exact.RetrySeconds(), told.RetrySeconds())
		}
	}
}

func TestRetrySecondsAtTheEdges(t *testing.T) {
	const last = 999 * time.Millisecond // the greatest rounding
	for _, test := range []struct {
		r    Rejection
		want int64
	}{
		{Rejection{}, 1},
		{Rejection{roundedBy: last}, 1},
		{Rejection{RetryDelay: 1}, 1},
		{Rejection{RetryDelay: last, roundedBy: last}, 1},
		{Rejection{RetryDelay: 1500 * time.Millisecond}, 2}, // of a test: it was not drawn
		{Rejection{RetryDelay: math.MaxInt64}, math.MaxInt64/int64(time.Second) + 1},
		{Rejection{Reason: ReasonDraining, RetryDelay: last}, 0},
		{Rejection{Reason: ReasonDraining, RetryDelay: time.Second + last, roundedBy: 1}, 1},
		{Rejection{Reason: ReasonDraining, RetryDelay: 2 * time.Second, roundedBy: last}, 2},
	} {
		if got := test.r.RetrySeconds(); got != test.want {
			t.Errorf("%+v: %d s, want %d", test.r, got, test.want)
		}
	}
}
