package httpgate_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor"
	"github.com/rpcgate/rpcgate/interceptor/httpgate"
	"github.com/rpcgate/rpcgate/internal/memhttp"
)

// takes is a handler that takes the given time and minds nothing.
func takes(d time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(d)
		ok(w, r)
	})
}

// begin makes a request on a goroutine of its own, and returns where its status will be; 0 if there is no response.
func begin(t *testing.T, client *http.Client, url string) <-chan int {
	t.Helper()
	done := make(chan int, 1)
	go func() {
		res, err := client.Get(url)
		if err != nil {
			done <- 0
			return
		}
		_ = res.Body.Close()
		done <- res.StatusCode
	}()
	synctest.Wait()
	return done
}

func TestShutdownServesTheCallsThatAreThere(t *testing.T) {
	for version, client := range map[int]func(*memhttp.Server) *http.Client{
		1: (*memhttp.Server).Client, 2: (*memhttp.Server).ClientHTTP2,
	} {
		synctest.Test(t, func(t *testing.T) {
			g := newGate(t, gate.WithMaxWait(time.Minute))
			mux := http.NewServeMux()
			srv := &http.Server{Handler: mux}
			stopper := httpgate.NewStopper(srv, interceptor.WithGrace(6*time.Second))
			mux.Handle("/", httpgate.NewMiddleware(g)(takes(2*time.Second)))
			mux.Handle("/readyz", stopper.Ready())
			s := memhttp.StartServer(t, srv)
			c := client(s)
			ready := func(want int, closes bool) {
				t.Helper()
				res, _ := do(t, c, http.MethodGet, s.URL+"/readyz")
				before := s.Connections()
				synctest.Wait()
				if res.StatusCode != want || res.Close != (closes && version == 1) {
					t.Errorf("HTTP/%d: readyz %s, Connection: close %t", version, res.Status, res.Close)
				}
				do(t, c, http.MethodGet, s.URL+"/readyz")
				if moved := s.Connections() > before; moved != closes {
					t.Errorf("HTTP/%d: the client opened another connection: %t, want %t", version, moved, closes)
				}
			}
			ready(200, false)
			start := time.Now()
			stopped := make(chan error, 1)
			go func() { stopped <- stopper.Shutdown(t.Context(), g) }()
			time.Sleep(time.Second)
			ready(503, false)
			time.Sleep(3 * time.Second)
			ready(503, true)
			time.Sleep(1500 * time.Millisecond)
			inGrace, waiting := begin(t, c, s.URL), begin(t, c, s.URL)
			for what, call := range map[string]<-chan int{"in the grace": inGrace, "that waited": waiting} {
				if status := <-call; status != 200 {
					t.Errorf("HTTP/%d: the call %s got %d", version, what, status)
				}
			}
			if err := <-stopped; err != nil || time.Since(start) > 10*time.Second {
				t.Errorf("HTTP/%d: Shutdown returned %v after %s", version, err, time.Since(start))
			}
		})
	}
}

func TestShutdownCutsOffCallsWhenItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, gate.WithMaxWait(time.Hour))
		srv := &http.Server{Handler: httpgate.NewMiddleware(g)(takes(time.Minute))}
		s := memhttp.StartServer(t, srv)
		inFlight, waiting := begin(t, s.Client(), s.URL), begin(t, s.Client(), s.URL)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		start := time.Now()
		err := httpgate.Shutdown(ctx, srv, g)
		const want = `httpgate: Shutdown: gate "db": 1 units in flight, 1 calls waiting: context deadline exceeded`
		if err == nil || err.Error() != want || !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 10*time.Second {
			t.Errorf("got %v after %s, want %s", err, time.Since(start), want)
		}
		if a, b := <-inFlight, <-waiting; a != 0 || b != 0 {
			t.Errorf("the calls got %d and %d, want no response", a, b)
		}
		time.Sleep(time.Minute) // the handler
	})
}

// TestStopperLeavesUpgradesAlone has a request for a websocket, whose response has a Connection header of its own.
func TestStopperLeavesUpgradesAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := &http.Server{Handler: http.HandlerFunc(ok)}
		stopper := httpgate.NewStopper(srv, interceptor.WithGrace(2*time.Second))
		go func() { _ = stopper.Shutdown(t.Context()) }()
		time.Sleep(1500 * time.Millisecond)
		for upgrade, want := range map[string]string{"": "close", "websocket": ""} {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			if upgrade != "" {
				r.Header.Set("Upgrade", upgrade)
			}
			w := httptest.NewRecorder()
			srv.Handler.ServeHTTP(w, r)
			if got := w.Header().Get("Connection"); got != want {
				t.Errorf("Upgrade %q: Connection %q, want %q", upgrade, got, want)
			}
		}
		time.Sleep(time.Minute)
	})
}

func TestStopperOfAServerWithoutAHandlerServesTheDefaultMux(t *testing.T) {
	srv := &http.Server{}
	httpgate.NewStopper(srv)
	w := httptest.NewRecorder()
	srv.Handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/nothing", nil))
	if w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "404 page not found") {
		t.Errorf("got %d %q, want the 404 of http.DefaultServeMux", w.Code, w.Body)
	}
}

func TestMistakesOfAStopperPanic(t *testing.T) {
	for want, mistake := range map[string]func(){
		"httpgate: Shutdown: want a server, got nil": func() { _ = httpgate.Shutdown(t.Context(), nil) },
		"httpgate: NewStopper: want a server, got nil\nhttpgate: WithNotReady: want a function, got nil": func() {
			httpgate.NewStopper(nil, interceptor.WithNotReady(nil))
		},
	} {
		func() {
			defer func() {
				if got := recover(); got != want {
					t.Errorf("got the panic\n%v\nwant\n%s", got, want)
				}
			}()
			mistake()
		}()
	}
}
