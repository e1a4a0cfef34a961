package gatedebug

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

func join(t *testing.T, p *page, name string) *viewer {
	t.Helper()
	v, err := p.hub.join(name, false)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// count returns how many samples were taken so far, whether the sampler runs and
// whether samples are kept.
func (h *hub) count() (samples uint64, runs, kept bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.samples, h.timer != nil, h.gates != nil
}

func TestClosedTabCostsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // which also finds goroutines that are left
		db := mustGate(t, "db", 8)
		p := newPage([]*gate.Gate{db})
		w := p.hub.watches[0]
		time.Sleep(time.Hour)
		if n, runs, kept := p.hub.count(); n != 0 || runs || kept || w.Interest(t.Context()) == gate.ObserveAll {
			t.Errorf("nobody has watched yet: %d samples, runs %v, kept %v", n, runs, kept)
		}

		v := join(t, p, "db")
		if w.Interest(t.Context()) != gate.ObserveAll {
			t.Error("the gate of a viewer does not tell of its calls")
		}
		time.Sleep(2500 * time.Millisecond)
		if n, runs, _ := p.hub.count(); n != 3 || !runs {
			t.Errorf("want 3 samples, got %d", n)
		}
		p.hub.leave(v)
		if w.Interest(t.Context()) == gate.ObserveAll {
			t.Error("the watch still wants calls that are admitted at once")
		}
		time.Sleep(grace + time.Second)
		synctest.Wait()
		before, runs, kept := p.hub.count()
		if runs || !kept {
			t.Errorf("a while after the last viewer: runs %v, samples kept %v", runs, kept)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if after, runs, kept := p.hub.count(); after != before || runs || kept {
			t.Errorf("an hour later: %d more samples, runs %v, samples kept %v", after-before, runs, kept)
		}
	})
}

func TestViewerThatComesBackKeepsTheSamples(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPage([]*gate.Gate{mustGate(t, "db", 8)})
		p.hub.leave(join(t, p, "db"))
		time.Sleep(grace + time.Second)
		synctest.Wait()
		if _, runs, kept := p.hub.count(); runs || !kept {
			t.Fatalf("runs %v, samples kept %v, want them to be kept for a while", runs, kept)
		}
		v := join(t, p, "db")
		go func() {
			for range v.messages {
			}
		}()
		time.Sleep(2 * linger)
		synctest.Wait()
		if _, runs, kept := p.hub.count(); !runs || !kept {
			t.Errorf("runs %v, samples kept %v, want both while there is a viewer", runs, kept)
		}
		p.hub.leave(v)
		p.hub.mu.Lock()
		v.end()
		p.hub.mu.Unlock()
	})
}

func TestOneSamplerServesAllViewers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPage([]*gate.Gate{mustGate(t, "a", 1), mustGate(t, "b", 1)}, WithMaxViewers(5))
		var viewers []*viewer
		for i := range 5 {
			viewers = append(viewers, join(t, p, string(rune('a'+i%2))))
		}
		time.Sleep(3500 * time.Millisecond)
		if n, _, _ := p.hub.count(); n != 4 {
			t.Errorf("want 4 samples in 3.5 s, got %d", n)
		}
		for i, v := range viewers {
			v.next(t, "hello")
			first := decode[closeUp2](t, v.next(t, "gate").data)
			for n := range 3 {
				v.next(t, "tick")
				u := decode[closeUp2](t, v.next(t, "update").data)
				if u.Gate != i%2 || u.Full || len(u.History) != 1 || !first.Full {
					t.Errorf("viewer %d, update %d: %+v", i, n, u)
				}
			}
			p.hub.leave(v)
		}
	})
}

// closeUp2 is what a test reads of a closeUp.
type closeUp2 struct {
	Gate       int
	Full       bool
	History    [][]float64
	Routes     []routeRow
	Rejections []rejection
	Minutes    []minute
	Holders    []holder
}

func TestSlowViewerIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPage([]*gate.Gate{mustGate(t, "db", 1)})
		slow, quick := join(t, p, "db"), join(t, p, "db")
		for range 20 {
			time.Sleep(time.Second)
			for len(quick.messages) > 0 {
				<-quick.messages
			}
		}
		if !slow.ended {
			t.Error("a viewer that reads nothing is kept")
		}
		if quick.ended {
			t.Error("one that reads is not")
		}
		p.hub.leave(slow)
		p.hub.leave(quick)
	})
}

func TestHistorySurvivesAReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPage([]*gate.Gate{mustGate(t, "db", 1)})
		points := func(v *viewer) int {
			v.next(t, "hello")
			return len(decode[closeUp2](t, v.next(t, "gate").data).History)
		}
		v := join(t, p, "db")
		if n := points(v); n != 1 {
			t.Errorf("want one point at first, got %d", n)
		}
		time.Sleep(3500 * time.Millisecond)
		p.hub.leave(v)
		time.Sleep(time.Second) // loads the page again
		v = join(t, p, "db")
		if n := points(v); n != 5 {
			t.Errorf("want 5 points, without a gap, got %d", n)
		}
		p.hub.leave(v)
		time.Sleep(2 * linger)
		v = join(t, p, "db")
		if n := points(v); n != 1 {
			t.Errorf("want one point after the old ones were given up, got %d", n)
		}
		for range window / time.Second * 2 {
			time.Sleep(time.Second)
			for len(v.messages) > 0 {
				<-v.messages
			}
		}
		late := join(t, p, "db")
		if n := points(late); n != int(window/time.Second) {
			t.Errorf("want the points of the window and no more, got %d", n)
		}
		p.hub.leave(v)
		p.hub.leave(late)
	})
}

func TestViewerGetsTheGateUnderMostPressure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calm, busy := mustGate(t, "calm", 10), mustGate(t, "busy", 10)
		p := newPage([]*gate.Gate{calm, busy})
		hold(t, busy, gate.Call{})
		for _, name := range []string{"", "no such gate"} {
			v := join(t, p, name)
			if v.watch.gate != busy {
				t.Errorf("asked for %q: got %s", name, v.watch.gate.Name())
			}
			p.hub.leave(v)
		}
		empty := newPage(nil)
		v := join(t, empty, "")
		time.Sleep(1500 * time.Millisecond)
		v.next(t, "hello")
		v.next(t, "tick")
		empty.hub.leave(v)
	})
}

// The numbers of a second of load, as a viewer sees them.
func TestNumbersAreRight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := mustGate(t, "db", 2, gate.WithMaxWaiting(1))
		p := newPage([]*gate.Gate{db})
		v := join(t, p, "db")
		defer p.hub.leave(v)
		v.next(t, "hello")
		v.next(t, "gate")
		time.Sleep(500 * time.Millisecond)
		for range 4 { // 4 calls are admitted at once
			hold(t, db, gate.Call{Route: "/quick"}).Release()
		}
		a := hold(t, db, gate.Call{Route: "/slow", RequestID: "a"})
		hold(t, db, gate.Call{Route: "/slow", RequestID: "b", Cost: 1})
		time.AfterFunc(40*time.Millisecond, a.Release) // one waits 40 ms
		hold(t, db, gate.Call{Route: "/quick"})
		refuse(t, db, gate.Call{Route: "/quick"}) // and one is refused
		go db.Acquire(t.Context(), gate.Call{Route: "/slow"})
		time.Sleep(460 * time.Millisecond) // which waits 100 ms and is rejected
		synctest.Wait()

		row := decode[ticked](t, v.next(t, "tick").data).Rows[0]
		for column, want := range map[string]any{
			"gate": 0.0, "in_flight": 2.0, "limit": 2.0, "waiting": 0.0, "max_waiting": 1.0, "dry_run": false,
			"accepted_per_s": 7.0, "rejected_per_s": 2.0, "abandoned_per_s": 0.0,
			"waited_ms_mean": 15.56, "waited_ms_max": 100.0, // (40 + 100) / 9
			"state": "refusing",
		} {
			if got := at(row, column); got != want {
				t.Errorf("%s: want %v, got %v", column, want, got)
			}
		}
		u := decode[closeUp2](t, v.next(t, "update").data)
		want := []routeRow{
			{Route: "/quick", InFlight: 1, WaitMean: 6.67, WaitMax: 40, Accepted: 5, Rejected: 1},
			{Route: "/slow", InFlight: 1, WaitMean: 33.33, WaitMax: 100, Accepted: 2, Rejected: 1},
		}
		if fmt.Sprint(u.Routes) != fmt.Sprint(want) {
			t.Errorf("routes:\n got %+v\nwant %+v", u.Routes, want)
		}
		if len(u.Rejections) != 2 || len(u.Holders) != 2 || u.Holders[0].RequestID != "b" || u.Holders[0].AgeMs != 500 {
			t.Errorf("rejections %+v, holders %+v", u.Rejections, u.Holders)
		}
		time.Sleep(time.Second)
		v.next(t, "tick")
		if u := decode[closeUp2](t, v.next(t, "update").data); len(u.Rejections) != 0 {
			t.Errorf("rejections are sent again: %+v", u.Rejections)
		}
	})
}

func TestOpenGateCountsRoutesOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := mustGate(t, "db", 2)
		p := newPage([]*gate.Gate{db})
		w := p.hub.watches[0]
		hold(t, db, gate.Call{Route: "/before"}).Release()
		v := join(t, p, "db")
		hold(t, db, gate.Call{Route: "/while"}).Release()
		routes := func() int {
			w.mu.Lock()
			defer w.mu.Unlock()
			return len(w.routes.all)
		}
		if n := routes(); n != 1 {
			t.Errorf("want the route called while the gate is open, got %d", n)
		}
		p.hub.leave(v)
		hold(t, db, gate.Call{Route: "/after"}).Release()
		if n := routes(); n != 0 {
			t.Errorf("want no routes, got %d", n)
		}
	})
}

// Viewers come and go while calls do.
func TestViewersAndCallsTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := mustGate(t, "db", 4, gate.WithMaxWaiting(4), gate.WithMaxWait(30*time.Millisecond))
		p := newPage([]*gate.Gate{db}, WithInterval(100*time.Millisecond))
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		for i := range 20 {
			go func() {
				for ctx.Err() == nil {
					_ = db.Do(ctx, gate.Call{Route: fmt.Sprintf("/%d", i)}, func(context.Context) error {
						time.Sleep(time.Duration(5+i) * time.Millisecond)
						return nil
					})
					time.Sleep(time.Millisecond)
				}
			}()
		}
		for range 4 {
			go func() {
				for ctx.Err() == nil {
					if v, err := p.hub.join("db", false); err == nil {
						for range 15 {
							<-v.messages
						}
						p.hub.leave(v)
					}
				}
			}()
		}
		<-ctx.Done()
		synctest.Wait()
		s := db.Overview()
		if s.ObserverPanics != 0 || s.Totals.RejectedBusy == 0 {
			t.Errorf("%+v", s)
		}
		time.Sleep(time.Minute)
	})
}
