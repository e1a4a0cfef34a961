package growth

import "testing"

func TestTurnsReachAll(t *testing.T) {
	for _, n := range []int{1, 100, 10_000} {
		seen := map[int32]bool{}
		list := turns(n)
		for _, i := range list {
			if i < 0 || int(i) >= n {
				t.Fatalf("%d of %d", i, n)
			}
			seen[i] = true
		}
		if len(seen) < n*99/100 || len(list) != 1<<16 {
			t.Errorf("%d of %d in a list of %d", len(seen), n, len(list))
		}
	}
}

func TestRetainedSeesWhatIsKept(t *testing.T) {
	if got := retained(func() any { return make([]byte, 1<<20) }); got < 1<<20 || got > 1<<20+1<<16 {
		t.Errorf("1 MiB is kept, measured %.0f bytes", got)
	}
}

func TestKeysComeAndGo(t *testing.T) {
	g := afterKeys(5000, 100)
	if g.InFlight() != 0 || g.Waiting() != 0 {
		t.Errorf("in flight %d, waiting %d; want none", g.InFlight(), g.Waiting())
	}
}
