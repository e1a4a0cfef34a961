package httpgate_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/httpgate"
	"github.com/rpcgate/rpcgate/internal/memhttp"
)

// opening is a policy that sends all requests through g, to hold their lease
// until the first bytes of the response.
func opening(t *testing.T, g *gate.Gate) *gate.Policy {
	t.Helper()
	p, err := gate.NewPolicy(gate.Route("*", g).Stream(gate.HoldOpening))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestHandlerMayReleaseEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		var steps []int64
		s := memhttp.Start(t, httpgate.NewMiddleware(g)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			lease, _ := gate.LeaseFromContext(r.Context())
			steps = append(steps, g.InFlight())
			lease.Release()
			steps = append(steps, g.InFlight())
			ok(w, r)
		})))
		if res, _ := do(t, s.Client(), http.MethodGet, s.URL); res.StatusCode != 200 || fmt.Sprint(steps) != "[1 0]" {
			t.Errorf("got %s and %v in flight before and after the release", res.Status, steps)
		}
	})
}

func TestHoldOpeningHoldsToTheFirstBytesOfTheBody(t *testing.T) {
	for name, send := range map[string]func(http.ResponseWriter){
		"write":  func(w http.ResponseWriter) { fmt.Fprint(w, "event") },
		"string": func(w http.ResponseWriter) { _, _ = io.WriteString(w, "event") },
		"copy": func(w http.ResponseWriter) {
			_, _ = io.Copy(w, onlyReader{strings.NewReader("event")})
		},
		"copy twice": func(w http.ResponseWriter) {
			_, _ = io.Copy(w, onlyReader{strings.NewReader("ev")})
			_, _ = io.Copy(w, onlyReader{strings.NewReader("ent")})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGate(t)
				var steps []int64
				h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", "text/event-stream")
					w.WriteHeader(http.StatusOK)
					w.(http.Flusher).Flush()
					_, _ = w.Write(nil)
					steps = append(steps, g.InFlight())
					send(w)
					steps = append(steps, g.InFlight())
				})
				s := memhttp.Start(t, httpgate.NewMiddleware(opening(t, g))(h))
				for _, client := range []*http.Client{s.Client(), s.ClientHTTP2()} {
					steps = nil
					_, body := do(t, client, http.MethodGet, s.URL)
					if body != "event" || fmt.Sprint(steps) != "[1 0]" {
						t.Errorf("got %q, and %v in flight before and after the first bytes, want 1 and 0", body, steps)
					}
				}
			})
		})
	}
}

// onlyReader cannot write itself, so that io.Copy asks the writer to read.
type onlyReader struct{ io.Reader }

func TestHoldOpeningEndsWithTheFirstBytesAlsoIfTheyAreNotWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		h := func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNoContent)
			if _, err := io.WriteString(w, "a body"); !errors.Is(err, http.ErrBodyNotAllowed) {
				t.Errorf("the write returned %v, want http.ErrBodyNotAllowed", err)
			}
			if n := g.InFlight(); n != 0 {
				t.Errorf("%d in flight after the write", n)
			}
		}
		s := memhttp.Start(t, httpgate.NewMiddleware(opening(t, g))(http.HandlerFunc(h)))
		do(t, s.Client(), http.MethodGet, s.URL)
	})
}

func TestHandlerWithoutABodyReleasesTheLeaseAtItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		s := memhttp.Start(t, httpgate.NewMiddleware(opening(t, g))(http.HandlerFunc(
			func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })))
		do(t, s.Client(), http.MethodGet, s.URL)
	})
}

// TestHijackedConnection has a handler that takes the connection over, as those
// of websockets do.
func TestHijackedConnection(t *testing.T) {
	for name, test := range map[string]struct {
		admitter func(*testing.T, *gate.Gate) gate.Admitter
		want     string
	}{
		"holds its lease by default":        {func(_ *testing.T, g *gate.Gate) gate.Admitter { return g }, "[1 1]"},
		"gives it back if it is an opening": {func(t *testing.T, g *gate.Gate) gate.Admitter { return opening(t, g) }, "[1 0]"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGate(t)
				var steps []int64
				h := func(w http.ResponseWriter, _ *http.Request) {
					steps = append(steps, g.InFlight())
					conn, buf, err := w.(http.Hijacker).Hijack()
					if err != nil {
						t.Error(err)
						return
					}
					defer conn.Close()
					steps = append(steps, g.InFlight())
					fmt.Fprint(buf, "HTTP/1.1 101 Switching Protocols\r\n\r\nhello")
					_ = buf.Flush()
				}
				s := memhttp.Start(t, httpgate.NewMiddleware(test.admitter(t, g))(http.HandlerFunc(h)))
				conn, err := s.Dial(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: test\r\n\r\n"); err != nil {
					t.Fatal(err)
				}
				answer, err := io.ReadAll(bufio.NewReader(conn))
				if err != nil || !strings.HasSuffix(string(answer), "hello") || fmt.Sprint(steps) != test.want {
					t.Errorf("got %q, error %v, %v in flight before and after, want %s", answer, err, steps, test.want)
				}
			})
		})
	}
}

func TestRefusedHijackIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		h := func(w http.ResponseWriter, _ *http.Request) {
			if _, _, err := w.(http.Hijacker).Hijack(); err == nil {
				t.Error("a stream of HTTP/2 was hijacked")
			}
			if n := g.InFlight(); n != 1 {
				t.Errorf("%d in flight after a hijack that failed", n)
			}
			if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
				t.Error(err)
			}
			_ = w.(http.Pusher).Push("/x", nil)
		}
		s := memhttp.Start(t, httpgate.NewMiddleware(opening(t, g))(http.HandlerFunc(h)))
		do(t, s.ClientHTTP2(), http.MethodGet, s.URL)
	})
}
