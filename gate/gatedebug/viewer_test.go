package gatedebug

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

// names reads the messages of a viewer whose stream ends.
func (v *viewer) names(t *testing.T) (names []string) {
	t.Helper()
	if !v.ended {
		t.Fatal("the stream goes on")
	}
	for message := range v.messages {
		names = append(names, parseEvent(t, message).name)
	}
	return names
}

func TestTheFirstViewerGivesWayToANewOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPage([]*gate.Gate{mustGate(t, "a", 1), mustGate(t, "b", 1)}, WithMaxViewers(3))
		var viewers []*viewer
		for range 3 {
			viewers = append(viewers, join(t, p, "a"))
			time.Sleep(time.Minute / 100)
		}
		time.Sleep(time.Second)
		for _, later := range []string{"b", "a"} {
			join(t, p, later)
		}
		for i, gone := range []bool{true, true, false} {
			if viewers[i].ended != gone {
				t.Errorf("viewer %d of 3 gave way: %v, want %v", i, viewers[i].ended, gone)
			}
		}
		names := viewers[0].names(t)
		if names[len(names)-1] != "full" {
			t.Errorf("the viewer that gave way got %q, want full at the end", names)
		}
		if n := len(p.hub.viewers); n != 3 {
			t.Errorf("%d viewers, want 3", n)
		}
		if n := p.hub.watches[0].open.Load(); n != 4 {
			t.Errorf("gate a is open %d times, want 4 until those that gave way have left", n)
		}
		p.hub.leave(viewers[0])
		p.hub.leave(viewers[1])
		if n := p.hub.watches[0].open.Load(); n != 2 || p.hub.leaving != 0 {
			t.Errorf("gate a is open %d times, %d are leaving, want 2 and none", n, p.hub.leaving)
		}
	})
}

// A slow viewer is told, too: without that its page would come back at once.
func TestASlowViewerIsToldThatItGivesWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPage([]*gate.Gate{mustGate(t, "a", 1)}, WithMaxViewers(1))
		slow := join(t, p, "a")
		for len(slow.messages) < cap(slow.messages) {
			time.Sleep(time.Second)
			synctest.Wait()
		}
		p.hub.leave(join(t, p, "a"))
		if names := slow.names(t); names[len(names)-1] != "full" {
			t.Errorf("got %q, want full at the end", names)
		}
	})
}

// A page that gave way asks for a look from time to time. It gets a stream again when
// there is room, and nobody leaves for it.
func TestAViewerWithoutRoomGetsALook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := mustGate(t, "db", 1)
		p := newPage([]*gate.Gate{db}, WithMaxViewers(1))
		v := join(t, p, "db")
		time.Sleep(1500 * time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		w := httptest.NewRecorder()
		p.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "/events?if=room", nil))
		body := w.Body.String()
		hello, gate, full := strings.Index(body, "event: hello"), strings.Index(body, "event: gate"), strings.Index(body, "event: full\ndata: {\"max_viewers\":1}\n\n")
		if hello < 0 || gate < hello || full < gate {
			t.Errorf("want hello, gate and full, got %s", body)
		}
		if v.ended || len(p.hub.viewers) != 1 {
			t.Errorf("the viewer left for a look")
		}
		p.hub.leave(v)
		back, err := p.hub.join("db", true)
		if err != nil || back.ended {
			t.Fatalf("ended %v, error %v, want a stream", back.ended, err)
		}
		back.next(t, "hello")
		back.next(t, "gate")
		time.Sleep(time.Second)
		back.next(t, "tick")
		p.hub.leave(back)
	})
}

// Connections that take no data cannot make the streams more than twice the allowed ones.
func TestStreamsThatDoNotEndAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPage([]*gate.Gate{mustGate(t, "db", 1)}, WithMaxViewers(2))
		var stuck []*viewer
		for range 4 {
			stuck = append(stuck, join(t, p, "db"))
		}
		const want = "too many viewers: at most 2 may have this page open, and as many are still leaving\n"
		if w := request(p, http.MethodHead, "/events", ""); w.Code != 503 || w.Header().Get("Retry-After") != "10" || w.Body.String() != want {
			t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
		}
		if v, err := p.hub.join("db", false); err == nil {
			t.Error("a fifth viewer was let in")
			p.hub.leave(v)
		}
		p.hub.leave(stuck[0])
		if w := request(p, http.MethodHead, "/events", ""); w.Code != 200 {
			t.Errorf("one has left: %d", w.Code)
		}
		p.hub.leave(join(t, p, "db"))
	})
}

// Viewers whose connections are idle do not keep a new one out, in a server.
func TestIdleViewersKeepNobodyOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPage([]*gate.Gate{mustGate(t, "db", 1)})
		l := newPipes()
		srv := &http.Server{Handler: p}
		go srv.Serve(l)
		defer srv.Close()
		var streams []*stream
		for range DefaultMaxViewers + 1 {
			s := open(t, l.client(), "http://gate/events")
			s.expect("hello", "gate")
			streams = append(streams, s)
		}
		streams[0].expect("full")
		if _, err := streams[0].next(); err == nil {
			t.Error("the first stream goes on")
		}
		streams[DefaultMaxViewers].expect("tick", "update", "tick")
		for _, s := range streams {
			s.body.Close()
		}
	})
}
