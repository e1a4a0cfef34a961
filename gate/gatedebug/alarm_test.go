package gatedebug

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/gate/internal/era"
	"github.com/rpcgate/rpcgate/internal/eras"
)

// incident lets a gate refuse a call each second, half a second after a sample.
func incident(t *testing.T, db *gate.Gate, d time.Duration) {
	t.Helper()
	lease := hold(t, db, gate.Call{})
	refuse(t, db, gate.Call{})
	time.Sleep(time.Second / 2)
	for range d/time.Second - 1 {
		refuse(t, db, gate.Call{})
		time.Sleep(time.Second)
	}
	lease.Release()
}

func TestWhoComesInTheMiddleSeesTheBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calm, db := mustGate(t, "calm", 1), mustGate(t, "db", 1)
		p := newPage([]*gate.Gate{calm, db})
		time.Sleep(time.Hour)
		began := time.Now()
		incident(t, db, 91*time.Second)
		v := join(t, p, "db")
		defer p.hub.leave(v)
		sparks := decode[struct{ Sparks map[int][][]float64 }](t, v.next(t, "hello").data).Sparks
		if calm, busy := sparks[0], sparks[1]; len(calm) != len(busy) || len(busy) < 90 || busy[0][0] != 1 || calm[45][0] != 0 || busy[45][1] != 1 || calm[45][1] != 0 {
			t.Errorf("the list shows %v and %v", calm, busy)
		}
		seen := decode[closeUp2](t, v.next(t, "gate").data).History
		if len(seen) < 90 || int64(seen[0][0]) != began.UnixMilli() {
			t.Fatalf("%d samples, the first of %v, want 90 from %d on", len(seen), seen[0], began.UnixMilli())
		}
		if rejected := seen[45][7]; rejected != 1 {
			t.Errorf("in the middle %v were refused per second, want 1", rejected)
		}
	})
}

// The first message stays small, however many gates there are: the list shows the past
// of those under most pressure.
func TestTheListShowsThePastOfThoseInTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gates, p := thousand(t)
		if err := gates[777].SetLimit(1); err != nil {
			t.Fatal(err)
		}
		incident(t, gates[777], 200*time.Second)
		v := join(t, p, "gate-000")
		defer p.hub.leave(v)
		hello := v.next(t, "hello").data
		sparks := decode[struct{ Sparks map[int][][]float64 }](t, hello).Sparks
		if n := len(sparks[777]); len(sparks) != maxSparks || n < 59 || n > sparkSamples+1 || len(hello) > 150_000 {
			t.Errorf("the past of %d gates in %d bytes, of the one in trouble %d samples", len(sparks), len(hello), n)
		}
	})
}

// Trouble is what wakes the sampler: calls that are refused or wait for long.
func TestOnlyTroubleStartsTheSampler(t *testing.T) {
	for name, test := range map[string]struct {
		decision gate.Decision
		waited   time.Duration
		want     bool
	}{
		"refused":           {gate.RejectedBusy, 0, true},
		"a long wait":       {gate.Accepted, 50 * time.Millisecond, true},
		"a short wait":      {gate.Accepted, 10 * time.Millisecond, false},
		"left after little": {gate.Abandoned, 10 * time.Millisecond, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newPage([]*gate.Gate{mustGate(t, "db", 1)}) // waits up to 100 ms
			w := p.hub.watches[0]
			rushing{t, w}.decide(test.decision, test.waited)
			if _, runs, _ := p.hub.count(); runs != test.want {
				t.Errorf("%s: the sampler runs: %v, want %v", name, runs, test.want)
			}
		})
	}
}

func TestTheSamplerRestsWhenAllIsCalm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := mustGate(t, "db", 1)
		p := newPage([]*gate.Gate{db})
		incident(t, db, 20*time.Second)
		time.Sleep(calmAfter + grace + time.Second)
		synctest.Wait()
		before, runs, kept := p.hub.count()
		if runs || !kept {
			t.Errorf("after the trouble: runs %v, samples kept %v, want them for some time", runs, kept)
		}
		time.Sleep(time.Hour)
		if after, runs, kept := p.hub.count(); after != before || runs || kept {
			t.Errorf("an hour later: %d more samples, runs %v, samples kept %v", after-before, runs, kept)
		}
		refuse(t, fullGate(t, db), gate.Call{})
		if _, runs, _ := p.hub.count(); !runs {
			t.Error("the next trouble does not wake the sampler")
		}
	})
}

// fullGate takes all of a gate with a limit of 1.
func fullGate(t *testing.T, g *gate.Gate) *gate.Gate {
	t.Helper()
	hold(t, g, gate.Call{})
	return g
}

// A bubble ends while the sampler's timer is set. The next one has a sampler of its own.
func TestTheAlarmWorksInEachEra(t *testing.T) {
	db := mustGate(t, "db", 1)
	p := newPage([]*gate.Gate{db}, WithInterval(100*time.Millisecond))
	eras.Each(t, func(t *testing.T) {
		began := time.Now()
		refuse(t, fullGate(t, db), gate.Call{})
		if _, runs, _ := p.hub.count(); !runs {
			t.Fatal("the sampler does not run")
		}
		v := join(t, p, "db")
		v.next(t, "hello")
		if first := int64(decode[closeUp2](t, v.next(t, "gate").data).History[0][0]); first < began.UnixMilli() {
			t.Errorf("the first sample is of %d, before %d", first, began.UnixMilli())
		}
		p.hub.leave(v)
	})
}

func TestTheSamplerGoesOnInTheNextBubble(t *testing.T) {
	db := mustGate(t, "db", 1)
	p := newPage([]*gate.Gate{db})
	for range 2 {
		synctest.Test(t, func(t *testing.T) {
			refuse(t, fullGate(t, db), gate.Call{})
			before, _, _ := p.hub.count()
			time.Sleep(3500 * time.Millisecond)
			if after, _, _ := p.hub.count(); after != before+3 {
				t.Errorf("%d samples in 3.5 s, want 3", after-before)
			}
		})
	}
}

// The page may be made while its gates are in trouble.
func TestAPageIsMadeInTheMiddleOfTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := fullGate(t, mustGate(t, "db", 1, gate.WithMaxWait(0)))
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range 1000 {
				_, _ = db.TryAcquire(gate.Call{})
			}
		}()
		p := newPage([]*gate.Gate{mustGate(t, "other", 1), db})
		<-done
		refuse(t, db, gate.Call{})
		if n := len(p.hub.gates); n != 2 {
			t.Errorf("%d gates are sampled, want 2", n)
		}
	})
}

// A flood of rejections does not queue for the lock of the sampler.
func TestTheAlarmIsSilentWhileTheSamplerRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := mustGate(t, "db", 1)
		h := newPage([]*gate.Gate{db}).hub
		refuse(t, fullGate(t, db), gate.Call{})
		for _, running := range []bool{true, true, false} {
			if silent := h.sampling.Load() == uint64(era.Of(time.Now()))+1; silent != running {
				t.Errorf("the alarm is silent: %v, want %v", silent, running)
			}
			time.Sleep(calmAfter)
			synctest.Wait()
		}
	})
}

// An alarm of another era than the viewers' does not take their sampler away.
func TestTheAlarmLeavesViewersOfAnotherEraAlone(t *testing.T) {
	db := mustGate(t, "db", 1)
	p := newPage([]*gate.Gate{db})
	v := join(t, p, "db")
	defer p.hub.leave(v)
	before, _, _ := p.hub.count()
	synctest.Test(t, func(t *testing.T) {
		refuse(t, fullGate(t, db), gate.Call{})
	})
	p.hub.mu.Lock()
	defer p.hub.mu.Unlock()
	if p.hub.era != era.Real || p.hub.samples > before+1 {
		t.Errorf("the sampler is in era %d after %d samples, want the real one and %d", p.hub.era, p.hub.samples, before)
	}
}

// What was made in an unknown era cannot be used again, so each call would start a sampler.
func TestTheAlarmOfAnUnknownEraIsIgnored(t *testing.T) {
	p := newPage([]*gate.Gate{mustGate(t, "db", 1)})
	p.hub.alarm(era.Unknown)
	if n, runs, _ := p.hub.count(); n != 0 || runs {
		t.Errorf("%d samples, the sampler runs: %v, want none", n, runs)
	}
	p.hub.alarm(era.Real)
	p.hub.alarm(era.Unknown)
	p.hub.mu.Lock()
	defer p.hub.mu.Unlock()
	if p.hub.era != era.Real {
		t.Errorf("the sampler is in era %d, want the real one", p.hub.era)
	}
}
