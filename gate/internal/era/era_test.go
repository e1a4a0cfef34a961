package era

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/internal/eras"
)

func TestEachBubbleIsAnEraOfItsOwn(t *testing.T) {
	seen := map[Era]bool{}
	eras.Each(t, func(t *testing.T) {
		first := Of(time.Now())
		if second := Of(time.Now()); second != first || !first.Same(second) {
			t.Errorf("era %d, then %d, want one", first, second)
		}
		inside := make(chan Era)
		go func() { inside <- Of(time.Now()) }()
		if other := <-inside; other != first {
			t.Errorf("era %d on another goroutine, want %d", other, first)
		}
		if time.Now().Year() > 2000 {
			if first != Real {
				t.Errorf("era %d outside of bubbles, want Real", first)
			}
		} else if first == Real || first == Unknown || seen[first] {
			t.Errorf("era %d in a bubble, want one that was not seen before in %v", first, seen)
		}
		seen[first] = true
	})
}

func TestWhatWasMadeInAnUnknownEraIsNotUsedAgain(t *testing.T) {
	if Unknown.Same(Unknown) || Real.Same(Unknown) || Unknown.Same(Real) || !Real.Same(Real) {
		t.Error("want Same only for eras that are known")
	}
}

func TestClockTellsTimeAndEra(t *testing.T) {
	outside := NewClock()
	var inside Clock
	synctest.Test(t, func(t *testing.T) {
		inside = NewClock()
		time.Sleep(time.Minute)
		if since, e := inside.Now(); since != time.Minute || e != Of(time.Now()) {
			t.Errorf("%s in era %d, want a minute in this bubble", since, e)
		}
		if since, e := outside.Now(); since >= 0 || e != Of(time.Now()) {
			t.Errorf("%s in era %d, want a negative time in this bubble", since, e)
		}
	})
	for _, c := range []Clock{outside, inside} {
		if since, e := c.Now(); since < 0 || e != Real {
			t.Errorf("%s in era %d, want the real one", since, e)
		}
	}
}
