package gatedebug

import (
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/internal/eras"
)

// TestAPageServesBubblesAndTheRealClock has one page, such as a package's variable. Each era sees what happened in it.
func TestAPageServesBubblesAndTheRealClock(t *testing.T) {
	db := mustGate(t, "db", 1)
	p := newPage([]*gate.Gate{db}, WithInterval(100*time.Millisecond))
	eras.Each(t, func(t *testing.T) {
		began := time.Now()
		type seen struct {
			State      string
			Since      time.Time
			Rejections []rejection `json:"last_rejections"`
			Minutes    []minute    `json:"last_hour"`
		}
		look := func() seen {
			type state struct{ Gates []seen }
			return decode[state](t, request(p, "GET", "/state.json", "").Body.Bytes()).Gates[0]
		}
		if s := look(); s.State != stateOK || !s.Since.IsZero() || len(s.Rejections)+len(s.Minutes) != 0 {
			t.Errorf("at first: state %s since %v, rejections %v, minutes %v", s.State, s.Since, s.Rejections, s.Minutes)
		}
		lease := hold(t, db, gate.Call{})
		refuse(t, db, gate.Call{})
		s := look()
		if s.State != stateRefusing || s.Since.Before(began) || len(s.Rejections) != 1 || len(s.Minutes) != 1 || s.Minutes[0].Rejected != 1 {
			t.Errorf("state %s since %v, rejections %v, minutes %v", s.State, s.Since, s.Rejections, s.Minutes)
		}
		v := join(t, p, "db")
		v.next(t, "hello")
		up := decode[closeUp2](t, v.next(t, "gate").data)
		if len(up.History) != 1 || int64(up.History[0][0]) < began.UnixMilli() || len(up.Rejections) != 1 {
			t.Errorf("history %v and rejections %v since %d", up.History, up.Rejections, began.UnixMilli())
		}
		lease.Release()
		v.next(t, "tick")
		up = decode[closeUp2](t, v.next(t, "update").data)
		if accepted := up.History[0][6]; accepted != 0 { // the lease was taken before
			t.Errorf("%v calls accepted per second, want 0", accepted)
		}
		p.hub.leave(v) // the timer of the sampler stays set
	})
}

func TestAPageIsOpenInOneEraAtATime(t *testing.T) {
	p := newPage([]*gate.Gate{mustGate(t, "db", 1)})
	v := join(t, p, "db")
	synctest.Test(t, func(t *testing.T) {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			res := request(p, method, "/events", "")
			if res.Code != http.StatusServiceUnavailable || !strings.HasPrefix(res.Body.String(), errElsewhere.Error()) {
				t.Errorf("%s: got %d and %s", method, res.Code, res.Body)
			}
		}
	})
	another := join(t, p, "db") // another viewer of the same era
	p.hub.leave(another)
	p.hub.leave(v)
	synctest.Test(t, func(t *testing.T) {
		p.hub.leave(join(t, p, "db"))
	})
}

// TestATimerOfAnotherEraTakesNoSample lets a timer of real time fire while the page is open in a bubble.
func TestATimerOfAnotherEraTakesNoSample(t *testing.T) {
	const interval = 100 * time.Millisecond
	p := newPage([]*gate.Gate{mustGate(t, "db", 1)}, WithInterval(interval))
	p.hub.leave(join(t, p, "db"))
	fired := make(chan struct{})
	time.AfterFunc(interval+interval/2, func() { close(fired) })
	synctest.Test(t, func(t *testing.T) {
		v := join(t, p, "db")
		defer p.hub.leave(v)
		before, _, _ := p.hub.count()
		for open := true; open; runtime.Gosched() {
			select {
			case <-fired:
				open = false
			default:
			}
		}
		if after, _, _ := p.hub.count(); after != before {
			t.Errorf("%d samples were taken, but no time has passed in the bubble", after-before)
		}
		time.Sleep(interval)
		synctest.Wait()
		if after, _, _ := p.hub.count(); after != before+1 {
			t.Errorf("%d samples were taken in the time of one", after-before)
		}
	})
}

func TestHealthServesBubblesAndTheRealClock(t *testing.T) {
	db := mustGate(t, "db", 1)
	h := Health(db)
	eras.Each(t, func(t *testing.T) {
		look := func(want string) {
			t.Helper()
			if got := decode[healthAnswer](t, request(h, "GET", "/", "").Body.Bytes()).Gates[0].Reason; got != want {
				t.Errorf("reason %q, want %q", got, want)
			}
		}
		look("")
		hold(t, db, gate.Call{})
		refuse(t, db, gate.Call{})
		look("rejecting")
	})
}
