package gatedebug

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

func TestACallThatWaitsForItselfShowsOnThePage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := mustGate(t, "db", 1)
		p := newPage([]*gate.Gate{db})
		call := gate.Call{Route: "/a.B/C"}
		inside := gate.NewContext(t.Context(), hold(t, db, call), db, &call)
		done := make(chan struct{})
		go func() {
			defer close(done)
			if _, err := db.Acquire(inside, call); err == nil {
				t.Error("a full gate took one more")
			}
		}()
		go func() { _, _ = db.Acquire(t.Context(), call) }()
		synctest.Wait()

		w := p.hub.watches[0]
		rows := w.withCalls(nil, nil, db.Waiters())
		if len(rows) != 1 || rows[0].Waiting != 2 || rows[0].SelfWait != 1 {
			t.Errorf("routes: %+v, want two waiting calls, one of them for itself", rows)
		}
		if body := request(p, "GET", "/debug/gate/state.json", "").Body.String(); strings.Count(body, `"self_wait": true`) != 1 {
			t.Errorf("want one waiting call to be marked in %s", body)
		}
		<-done
		time.Sleep(time.Second)
		w.mu.Lock()
		defer w.mu.Unlock()
		marked := 0
		for _, r := range w.rejections.ring {
			if r.SelfWait {
				marked++
			}
		}
		if len(w.rejections.ring) != 2 || marked != 1 {
			t.Errorf("%d of %d rejections are marked, want one of two", marked, len(w.rejections.ring))
		}
	})
}
