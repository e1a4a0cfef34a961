package gatedebug

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

// pipes is a listener in memory, for servers in a bubble.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func newPipes() *pipes { return &pipes{make(chan net.Conn), make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

func (p *pipes) client() *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		p.conns <- theirs
		return ours, nil
	}}}
}

// stream reads server-sent events.
type stream struct {
	t    *testing.T
	body io.ReadCloser
	r    *bufio.Reader
}

func open(t *testing.T, c *http.Client, url string) *stream {
	t.Helper()
	res, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" || res.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%s: %v", res.Status, res.Header)
	}
	return &stream{t, res.Body, bufio.NewReader(res.Body)}
}

func (s *stream) next() (event, error) {
	s.t.Helper()
	text := ""
	for !strings.HasSuffix(text, "\n\n") {
		line, err := s.r.ReadString('\n')
		if err != nil {
			return event{}, err
		}
		text += line
	}
	if strings.HasPrefix(text, "retry: ") {
		return s.next()
	}
	return parseEvent(s.t, []byte(text)), nil
}

func (s *stream) expect(names ...string) {
	s.t.Helper()
	for _, name := range names {
		if e, err := s.next(); err != nil || e.name != name {
			s.t.Fatalf("want %q, got %q, %v", name, e.name, err)
		}
	}
}

func TestStreamOverLoopback(t *testing.T) {
	db := mustGate(t, "db", 2)
	hold(t, db, gate.Call{Route: "/a", RequestID: "r1"})
	mux := http.NewServeMux()
	mux.Handle("/debug/gate/", Handler(db, WithInterval(100*time.Millisecond)))
	srv := httptest.NewServer(mux)
	defer srv.Close()
	s := open(t, srv.Client(), srv.URL+"/debug/gate/events?gate=db")
	defer s.body.Close()
	s.expect("hello")
	e, err := s.next()
	if err != nil {
		t.Fatal(err)
	}
	if c := decode[closeUp2](t, e.data); e.name != "gate" || len(c.Holders) != 1 || c.Holders[0].RequestID != "r1" {
		t.Errorf("%s %s", e.name, e.data)
	}
	s.expect("tick", "update", "tick", "update")
}

// A stream outlives the timeouts of the server, which are for requests that end.
// It ends with its viewer.
func TestStreamOutlivesTheLimitsOfTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPage([]*gate.Gate{mustGate(t, "db", 1)})
		l := newPipes()
		srv := &http.Server{Handler: p, ReadTimeout: 2 * time.Second, WriteTimeout: 2 * time.Second}
		go srv.Serve(l)
		s := open(t, l.client(), "http://gate/events")
		s.expect("hello", "gate")
		for range 30 {
			s.expect("tick", "update")
		}
		if n := len(p.hub.viewers); n != 1 {
			t.Errorf("want one viewer, got %d", n)
		}
		s.body.Close()
		time.Sleep(time.Minute)
		synctest.Wait()
		if _, runs, _ := p.hub.count(); runs || len(p.hub.viewers) != 0 {
			t.Errorf("the viewer is gone: %d viewers, sampler runs %v", len(p.hub.viewers), runs)
		}
		srv.Close()
		time.Sleep(2 * time.Minute)
	})
}

// A viewer whose connection takes no more data is given up.
func TestStuckViewerIsLetGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPage([]*gate.Gate{mustGate(t, "db", 1)})
		l := newPipes()
		srv := &http.Server{Handler: p}
		go srv.Serve(l)
		s := open(t, l.client(), "http://gate/events")
		s.expect("hello")
		time.Sleep(time.Minute) // reads nothing, in a pipe without a buffer
		synctest.Wait()
		if n := len(p.hub.viewers); n != 0 {
			t.Errorf("want no viewer, got %d", n)
		}
		s.body.Close()
		srv.Close()
		time.Sleep(2 * time.Minute)
	})
}

func TestOpenPageDoesNotDelayShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPage([]*gate.Gate{mustGate(t, "db", 1)})
		l := newPipes()
		srv := &http.Server{Handler: p}
		go srv.Serve(l)
		var streams []*stream
		for range 3 {
			s := open(t, l.client(), "http://gate/events")
			s.expect("hello", "gate", "tick")
			streams = append(streams, s)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		ended := make(chan error)
		go func() { ended <- srv.Shutdown(ctx) }()
		for _, s := range streams {
			for {
				if _, err := s.next(); err != nil {
					if !errors.Is(err, io.EOF) {
						t.Errorf("the stream broke off: %v", err)
					}
					break
				}
			}
			s.body.Close()
		}
		if err := <-ended; err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		time.Sleep(2 * time.Minute)
	})
}
