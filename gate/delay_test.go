package gate_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

// delays are the retry delays of n refusals.
func delays(t *testing.T, g *gate.Gate, n int) (all []time.Duration) {
	t.Helper()
	for range n {
		_, err := g.TryAcquire(gate.Call{})
		all = append(all, refused(t, err, gate.ReasonLimit).RetryDelay)
	}
	return all
}

func TestRetryDelayIsDrawnFromItsRange(t *testing.T) {
	for _, test := range []struct {
		options  []gate.Option
		from, to time.Duration
	}{
		{nil, gate.DefaultMinRetryDelay, gate.DefaultMaxRetryDelay},
		{[]gate.Option{gate.WithRetryDelay(time.Minute, 2*time.Minute)}, time.Minute, 2 * time.Minute},
		{[]gate.Option{gate.WithRetryDelay(0, 0)}, 0, 0},
		{[]gate.Option{gate.WithRetryDelay(time.Second, time.Second)}, time.Second, time.Second},
		{[]gate.Option{gate.WithRetryDelay(0, gate.MaxRetryDelay)}, 0, gate.MaxRetryDelay},
	} {
		g := newGate(t, 1, test.options...)
		holder := acquire(t, g, gate.Call{})
		const n = 1000
		var low, high int
		seen := map[time.Duration]bool{}
		for _, d := range delays(t, g, n) {
			if d < test.from || d > test.to {
				t.Fatalf("delay %s, want %s to %s", d, test.from, test.to)
			}
			seen[d] = true
			if d < test.from+(test.to-test.from)/2 {
				low++
			} else {
				high++
			}
		}
		// Evenly: with 1000 draws each half has at least 400, but for one time in 10^10.
		if test.to > test.from && (low < 400 || high < 400 || len(seen) < n/2) {
			t.Errorf("%s to %s: %d in the lower half, %d in the upper, %d different", test.from, test.to, low, high, len(seen))
		}
		holder.Release()
	}
}

func TestRetrySecondsAreRoundedUpAndDown(t *testing.T) {
	g := newGate(t, 1, gate.WithRetryDelay(2300*time.Millisecond, 2300*time.Millisecond))
	defer acquire(t, g, gate.Call{}).Release()
	const n = 1000
	up := 0
	for range n {
		_, err := g.TryAcquire(gate.Call{})
		switch got := refused(t, err, gate.ReasonLimit).RetrySeconds(); got {
		case 2:
		case 3:
			up++
		default:
			t.Fatalf("2.3 s is %d s", got)
		}
	}
	// The mean is 2.3 s: of 1000 delays 200 to 400 are rounded up, but for one time in 10^10.
	if up < 200 || up > 400 {
		t.Errorf("%d of %d delays of 2.3 s were rounded up, want about 300", up, n)
	}
}

func TestRetryDelayDoesNotGrowByDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 1, gate.WithRetryDelay(time.Second, time.Second))
		holder := acquire(t, g, gate.Call{})
		for range 5 {
			for _, d := range delays(t, g, 100) {
				wantEqual(t, "delay", d, time.Second)
			}
			advance(time.Second)
		}
		holder.Release()
	})
}

func TestRetryDelayGrowsWithTheShareOfRecentRejections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		second := time.Second
		g := newGate(t, 1, gate.WithRetryDelay(second, 2*second), gate.WithRetryDelayGrowth(10*second))
		within := func(when string, from, to time.Duration) {
			t.Helper()
			for _, d := range delays(t, g, 50) {
				if d < from || d > to {
					t.Fatalf("%s: delay %s, want %s to %s", when, d, from, to)
				}
			}
		}
		holder := acquire(t, g, gate.Call{})
		within("at first", second, 2*second)
		advance(second)
		within("after a second in which nearly all was refused", 4*second, 10*second)

		// A second in which half of all is refused: from 1..2 halfway to 5..10.
		holder.Release()
		for range 150 {
			acquire(t, g, gate.Call{}).Release()
		}
		holder = acquire(t, g, gate.Call{})
		within("still in that second", 4*second, 10*second)
		advance(second)
		delays(t, g, 1)
		holder.Release()
		for range 200 {
			acquire(t, g, gate.Call{}).Release()
		}
		holder = acquire(t, g, gate.Call{})
		delays(t, g, 198)
		advance(second)
		within("after a second in which half was refused", 3*second-100*time.Millisecond, 6*second+100*time.Millisecond)

		holder.Release()
		advance(time.Hour)
		for range 100_000 {
			acquire(t, g, gate.Call{}).Release()
		}
		holder = acquire(t, g, gate.Call{})
		within("after quiet times", second, 2*second+10*time.Millisecond)
		holder.Release()
	})
}

// TestBothEndsOfTheRetryDelayGrow has a second in which three of four calls are rejected.
func TestBothEndsOfTheRetryDelayGrow(t *testing.T) {
	for _, test := range []struct{ from, to, ceiling, low, high time.Duration }{
		{time.Second, 2 * time.Second, 10 * time.Second, 4 * time.Second, 8 * time.Second},
		{0, 4 * time.Second, 8 * time.Second, 0, 7 * time.Second},
		{2 * time.Second, 2 * time.Second, 6 * time.Second, 5 * time.Second, 5 * time.Second},
		{0, 0, 8 * time.Second, 0, 6 * time.Second},
		{3 * time.Second, 6 * time.Second, 6 * time.Second, 3 * time.Second, 6 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := newGate(t, 1, gate.WithRetryDelay(test.from, test.to), gate.WithRetryDelayGrowth(test.ceiling))
			holder := acquire(t, g, gate.Call{})
			delays(t, g, 1) // begins the second; neither it nor the holder counts
			holder.Release()
			holder = acquire(t, g, gate.Call{})
			delays(t, g, 2) // the third one ends the second
			advance(time.Second)
			for range 20 {
				_, err := g.TryAcquire(gate.Call{})
				r := refused(t, err, gate.ReasonLimit)
				wantEqual(t, "lower end", r.MinRetryDelay, test.low)
				if r.RetryDelay < test.low || r.RetryDelay > test.high {
					t.Errorf("delay %s, want %s to %s", r.RetryDelay, test.low, test.high)
				}
			}
			holder.Release()
		})
	}
}

func TestRetryDelayNeverExceedsItsCeiling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 1, gate.WithRetryDelay(0, gate.MaxRetryDelay), gate.WithRetryDelayGrowth(gate.MaxRetryDelay))
		holder := acquire(t, g, gate.Call{})
		for range 3 {
			for _, d := range delays(t, g, 200) {
				if d < 0 || d > gate.MaxRetryDelay {
					t.Fatalf("delay %s", d)
				}
			}
			advance(time.Second)
		}
		holder.Release()
	})
}

// TestRetryDelayOutlivesAGrantThatWasHandedOn has fewer calls accepted at the end of a second than at its beginning.
func TestRetryDelayOutlivesAGrantThatWasHandedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 2, gate.WithRetryDelay(0, time.Second), gate.WithRetryDelayGrowth(time.Minute))
		wantDelay := func() {
			t.Helper()
			_, err := g.TryAcquire(gate.Call{Cost: 2})
			if d := refused(t, err, gate.ReasonLimit).RetryDelay; d < 0 || d > time.Minute {
				t.Errorf("delay %s, want 0 to a minute", d)
			}
		}
		stays, leaves := acquire(t, g, gate.Call{}), acquire(t, g, gate.Call{})
		ctx, cancel := context.WithCancel(t.Context())
		late := newLateErr(ctx)
		waiter := start(late, g, gate.Call{})
		late.armed.Store(true)
		leaves.Release()
		<-late.looking
		wantDelay() // a second begins, in which the grant counts
		cancel()
		close(late.answer)
		waiter.failed(t, context.Canceled)
		for range 3 {
			advance(time.Second)
			wantDelay()
		}
		stays.Release()
	})
}
