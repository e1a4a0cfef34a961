package httpgate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor"
	"github.com/rpcgate/rpcgate/interceptor/httpgate"
	"github.com/rpcgate/rpcgate/internal/memhttp"
)

// newGate makes a gate with a limit of 1, without waiting and with a delay of 2 s if
// the options do not say otherwise. It must be empty at the end of the test.
func newGate(t testing.TB, opts ...gate.Option) *gate.Gate {
	t.Helper()
	delay := 2 * time.Second
	opts = append([]gate.Option{gate.WithMaxWait(0), gate.WithRetryDelay(delay, delay)}, opts...)
	g, err := gate.New("db", 1, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		synctest.Wait()
		if g.InFlight() != 0 || g.Waiting() != 0 {
			t.Errorf("%d in flight and %d waiting at the end", g.InFlight(), g.Waiting())
		}
	})
	return g
}

func fill(t testing.TB, g *gate.Gate) (release func()) {
	t.Helper()
	lease, err := g.TryAcquire(gate.Call{Route: "filler"})
	if err != nil {
		t.Fatal(err)
	}
	return lease.Release
}

// do makes a request and returns the response with its body.
func do(t *testing.T, client *http.Client, method, url string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Request-Id", "id-1")
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}

func ok(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") }

func TestRefusedRequestGetsStatusRetryAfterAndShortBody(t *testing.T) {
	for status, kind := range map[int]gate.Refusal{429: gate.TooManyRequests, 503: gate.ServiceUnavailable} {
		synctest.Test(t, func(t *testing.T) {
			g := newGate(t, gate.WithRefusal(kind))
			defer fill(t, g)()
			s := memhttp.Start(t, httpgate.NewMiddleware(g)(http.HandlerFunc(ok)))
			for _, client := range []*http.Client{s.Client(), s.ClientHTTP2()} {
				res, body := do(t, client, http.MethodGet, s.URL+"/orders")
				if res.StatusCode != status {
					t.Errorf("status %s, want %d", res.Status, status)
				}
				if want := `{"error":"server_busy","requestId":"id-1"}` + "\n"; body != want {
					t.Errorf("body %q, want %q", body, want)
				}
				for key, want := range map[string]string{
					"Retry-After": "2", "Content-Type": "application/json", "Cache-Control": "no-store",
					"Content-Length": "43", "X-Content-Type-Options": "nosniff",
				} {
					if got := res.Header.Values(key); len(got) != 1 || got[0] != want {
						t.Errorf("%s is %q, want %q", key, got, want)
					}
				}
			}
		})
	}
}

func TestDrainingSendsClientsElsewhereAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, gate.WithDrainDelay(900*time.Millisecond, 900*time.Millisecond))
		if err := g.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		s := memhttp.Start(t, httpgate.NewMiddleware(g)(http.HandlerFunc(ok)))
		for version, client := range map[int]*http.Client{1: s.Client(), 2: s.ClientHTTP2()} {
			before := s.Connections()
			for range 3 {
				res, _ := do(t, client, http.MethodGet, s.URL)
				if got := res.Header.Get("Retry-After"); res.StatusCode != 503 || got != "0" || res.Close != (version == 1) {
					t.Errorf("HTTP/%d: %s, Retry-After %q, Connection: close %t", version, res.Status, got, res.Close)
				}
				synctest.Wait()
			}
			// Over HTTP/2 the connection has other calls, too.
			if got, want := s.Connections()-before, map[int]int{1: 3, 2: 1}[version]; got != want {
				t.Errorf("HTTP/%d: %d connections for 3 calls, want %d", version, got, want)
			}
		}
	})
}

func TestAnswerToHEADIsThatToGETWithoutTheBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		defer fill(t, g)()
		s := memhttp.Start(t, httpgate.NewMiddleware(g)(http.HandlerFunc(ok)))
		for _, client := range []*http.Client{s.Client(), s.ClientHTTP2()} {
			get, _ := do(t, client, http.MethodGet, s.URL)
			head, body := do(t, client, http.MethodHead, s.URL)
			if body != "" || head.StatusCode != get.StatusCode || fmt.Sprint(head.Header) != fmt.Sprint(get.Header) {
				t.Errorf("HEAD got %s, %v and body %q; GET got %s, %v", head.Status, head.Header, body, get.Status, get.Header)
			}
		}
		w := httptest.NewRecorder() // which lets a body pass
		httpgate.NewMiddleware(g)(http.HandlerFunc(ok)).ServeHTTP(w, httptest.NewRequest(http.MethodHead, "/", nil))
		if w.Body.Len() != 0 {
			t.Errorf("a body was written: %s", w.Body)
		}
	})
}

func TestRouteIsThePatternOfTheMux(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls []gate.Call
		g := newGate(t, gate.WithOnEvent(func(_ context.Context, e gate.Event) {
			if e.Kind == gate.EventDecision {
				calls = append(calls, e.Call)
			}
		}))
		gated := httpgate.NewMiddleware(g)
		mux := http.NewServeMux()
		mux.Handle("GET /orders/{id}", gated(http.HandlerFunc(ok)))
		mux.Handle("in-memory.test/files/{path...}", gated(http.HandlerFunc(ok)))
		mux.Handle("/around/", gated(http.StripPrefix("/around", http.HandlerFunc(ok))))
		inside, around := memhttp.Start(t, mux), memhttp.Start(t, gated(http.HandlerFunc(ok)))
		do(t, inside.Client(), http.MethodGet, inside.URL+"/orders/17")
		do(t, inside.Client(), http.MethodGet, inside.URL+"/files/a/b")
		do(t, inside.Client(), http.MethodGet, inside.URL+"/around/x")
		do(t, around.Client(), http.MethodGet, around.URL+"/orders/17")
		want := []gate.Call{
			{Route: "/orders/{id}"}, {Route: "/files/{path...}"}, {Route: "/around/"},
			{Route: "/orders/17", UnknownRoute: true},
		}
		if len(calls) != len(want) {
			t.Fatalf("%d calls, want %d", len(calls), len(want))
		}
		for i := range want {
			want[i].RequestID, want[i].RemoteIP = "id-1", "192.0.2.7"
			if calls[i] != want[i] {
				t.Errorf("got %+v, want %+v", calls[i], want[i])
			}
		}
	})
}

func TestPolicyDecidesByThePattern(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		defer fill(t, g)()
		p, err := gate.NewPolicy(gate.Route("*", g), gate.Exempt("/status"))
		if err != nil {
			t.Fatal(err)
		}
		gated := httpgate.NewMiddleware(p)
		mux := http.NewServeMux()
		mux.Handle("/orders/", gated(http.HandlerFunc(ok)))
		mux.Handle("GET /status", gated(http.HandlerFunc(ok)))
		s := memhttp.Start(t, mux)
		for path, want := range map[string]int{"/orders/": 429, "/status": 200} {
			if res, _ := do(t, s.Client(), http.MethodGet, s.URL+path); res.StatusCode != want {
				t.Errorf("%s: status %s, want %d", path, res.Status, want)
			}
		}
	})
}

func TestLeaseIsReleasedWhateverTheHandlerDoes(t *testing.T) {
	for name, broken := range map[string]func(){
		"panic":  func() { panic("broken on purpose") },
		"abort":  func() { panic(http.ErrAbortHandler) },
		"goexit": runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGate(t)
				s := memhttp.Start(t, httpgate.NewMiddleware(g)(http.HandlerFunc(
					func(http.ResponseWriter, *http.Request) { broken() })))
				for _, client := range []*http.Client{s.Client(), s.ClientHTTP2()} {
					if res, err := client.Post(s.URL, "text/plain", strings.NewReader("x")); err == nil {
						t.Errorf("got %s", res.Status)
						_ = res.Body.Close()
					}
				}
				synctest.Wait()
				if n := g.Snapshot().Totals.Accepted; n != 2 || g.InFlight() != 0 {
					t.Errorf("%d requests admitted and %d in flight, want 2 and 0", n, g.InFlight())
				}
			})
		})
	}
}

func TestRequestWaitsAndIsRefusedAfterTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, gate.WithMaxWait(time.Second))
		release := fill(t, g)
		s := memhttp.Start(t, httpgate.NewMiddleware(g)(http.HandlerFunc(ok)))
		began := time.Now()
		if res, _ := do(t, s.Client(), http.MethodGet, s.URL); res.StatusCode != 429 || time.Since(began) != time.Second {
			t.Errorf("got %s after %s, want 429 after 1 s", res.Status, time.Since(began))
		}
		time.AfterFunc(300*time.Millisecond, release)
		began = time.Now()
		if res, _ := do(t, s.Client(), http.MethodGet, s.URL); res.StatusCode != 200 || time.Since(began) != 300*time.Millisecond {
			t.Errorf("got %s after %s, want 200 after 300 ms", res.Status, time.Since(began))
		}
	})
}

func TestCallerThatLeavesWhileWaitingIsNoRejection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, gate.WithMaxWait(time.Minute))
		defer fill(t, g)()
		status := 0
		gated := httpgate.NewMiddleware(g)(http.HandlerFunc(ok))
		s := memhttp.Start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			seen := &statusWriter{ResponseWriter: w}
			gated.ServeHTTP(seen, r)
			status = seen.status
		}))
		for name, client := range map[string]*http.Client{"HTTP/1.1": s.Client(), "HTTP/2": s.ClientHTTP2()} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			if res, err := client.Do(r); err == nil {
				t.Errorf("got %s", res.Status)
				_ = res.Body.Close()
			}
			cancel()
			synctest.Wait()
			if status != 499 {
				t.Errorf("%s: the log sees %d, want 499", name, status)
			}
		}
		if got := g.Snapshot().Totals; got.Abandoned != 2 || got.RejectedBusy+got.RejectedTimeout != 0 {
			t.Errorf("the gate counted %+v, want 2 abandoned", got)
		}
	})
}

type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

func TestDeadlineOfTheRequestsContextIs504(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, gate.WithMaxWait(time.Minute))
		defer fill(t, g)()
		gated := httpgate.NewMiddleware(g)(http.HandlerFunc(ok))
		s := memhttp.Start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ctx, cancel := context.WithDeadline(r.Context(), time.Now().Add(-time.Second))
			defer cancel()
			gated.ServeHTTP(w, r.WithContext(ctx))
		}))
		if res, body := do(t, s.Client(), http.MethodGet, s.URL); res.StatusCode != 504 || body != `{"error":"deadline_exceeded"}`+"\n" {
			t.Errorf("got %s and %s", res.Status, body)
		}
	})
}

func TestStateIsToldOnlyWhenAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		defer fill(t, g)()
		s := memhttp.Start(t, httpgate.NewMiddleware(g, interceptor.WithStateInDetails())(http.HandlerFunc(ok)))
		_, text := do(t, s.Client(), http.MethodGet, s.URL)
		var body struct{ State map[string]string }
		if err := json.Unmarshal([]byte(text), &body); err != nil {
			t.Fatal(err)
		}
		if want := map[string]string{"gate": "db", "in_flight": "1", "limit": "1"}; fmt.Sprint(body.State) != fmt.Sprint(want) {
			t.Errorf("state %v, want %v", body.State, want)
		}
	})
}

// brokenAdmitter is somebody's own Admitter.
type brokenAdmitter struct{}

func (brokenAdmitter) Acquire(context.Context, gate.Call) (gate.Lease, error) {
	return gate.Lease{}, fmt.Errorf("dial tcp: secret")
}

func TestFailureOfAnAdmitterIs500AndTellsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memhttp.Start(t, httpgate.NewMiddleware(brokenAdmitter{})(http.HandlerFunc(ok)))
		if res, body := do(t, s.Client(), http.MethodGet, s.URL); res.StatusCode != 500 || strings.Contains(body, "secret") {
			t.Errorf("got %s and %s", res.Status, body)
		}
	})
}

func TestWriteRejectionAnswersAsTheMiddlewareDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		defer fill(t, g)()
		own := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, err := g.Acquire(r.Context(), gate.Call{RequestID: "id-1"})
			if !httpgate.WriteRejection(w, r, fmt.Errorf("pricing: %w", err)) {
				t.Error("the rejection was not written")
			}
			if httpgate.WriteRejection(w, r, io.EOF) || httpgate.WriteRejection(w, r, nil) {
				t.Error("something else was written")
			}
		})
		s, gated := memhttp.Start(t, own), memhttp.Start(t, httpgate.NewMiddleware(g)(own))
		got, gotBody := do(t, s.Client(), http.MethodGet, s.URL)
		want, wantBody := do(t, gated.Client(), http.MethodGet, gated.URL)
		if gotBody != wantBody || fmt.Sprint(got.Status, got.Header) != fmt.Sprint(want.Status, want.Header) {
			t.Errorf("got %s, %v and %s; the middleware writes %s, %v and %s",
				got.Status, got.Header, gotBody, want.Status, want.Header, wantBody)
		}
	})
}

func TestMiddlewareWithoutAHandlerPanics(t *testing.T) {
	defer func() {
		if got, want := recover(), "httpgate: NewMiddleware: want a handler, got nil"; got != want {
			t.Errorf("panic %v, want %s", got, want)
		}
	}()
	httpgate.NewMiddleware(gate.Must(gate.New("db", 1)))(nil)
}
