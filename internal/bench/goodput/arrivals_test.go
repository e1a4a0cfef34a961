package goodput

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

// In a bubble the clock only moves when all wait, so that these take no time and the machine has no say in them.

func TestClosedLoopIsWhatThePoolCanDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := closedLoop(1, 5*time.Second)
		want := poolSize / service.Seconds()
		if got < 0.97*want || got > 1.03*want {
			t.Errorf("%.0f queries a second, want about %.0f", got, want)
		}
	})
}

func TestGateKeepsGoodputAtCapacity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		capacity := poolSize / service.Seconds()
		gated := openLoop(1, gate.Must(gate.New("pool", poolSize)), steady(5*capacity, time.Second))
		if got := gated.goodput(); got < 0.97*capacity || got > 1.05*capacity {
			t.Errorf("with a gate %.0f calls a second in time, want about %.0f", got, capacity)
		}
		if p50, refused := gated.latency(0.5), gated.refusal(0.5); p50 < 5 || p50 > 20 || refused != 0 {
			t.Errorf("with a gate p50 %.1f ms, refused after %.1f ms; want about 14, and 0", p50, refused)
		}
		ungated := openLoop(1, nil, steady(5*capacity, time.Second))
		if got := ungated.goodput(); got > 0.1*capacity {
			t.Errorf("without a gate %.0f calls a second in time of %.0f, want nearly none", got, capacity)
		}
	})
}

func TestArrivalsAreAsManyAsPlanned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := openLoop(1, nil, []phase{{100, 10 * time.Second}, {500, 10 * time.Second}})
		for phase, want := range []int{1000, 5000} {
			got := 0
			for _, c := range r.calls {
				if c.phase == phase {
					got++
				}
			}
			if got < want*9/10 || got > want*11/10 {
				t.Errorf("phase %d has %d arrivals, want about %d", phase, got, want)
			}
			if share := r.inTime(phase); share != 1 {
				t.Errorf("phase %d: %.3f in time, want all", phase, share)
			}
		}
	})
}
