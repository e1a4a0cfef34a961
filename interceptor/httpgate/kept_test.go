package httpgate_test

import (
	"context"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/httpgate"
	"github.com/rpcgate/rpcgate/internal/memhttp"
)

// TestWhatIsKeptOfRefusedCallsIsSmall refuses calls with large headers and URLs. An observer keeps what the gate tells
// of them, as a span does until it is exported.
func TestWhatIsKeptOfRefusedCallsIsSmall(t *testing.T) {
	const calls, large = 20, 400_000
	for name, add := range map[string]func(*http.Request){
		"header": func(r *http.Request) { r.Header.Set("X-Request-Id", strings.Repeat("x", large)) },
		"url":    func(r *http.Request) { r.URL.RawQuery = strings.Repeat("x", large) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var kept []gate.Event
				g := newGate(t, gate.WithOnEvent(func(_ context.Context, e gate.Event) { kept = append(kept, e) }))
				defer fill(t, g)()
				s := memhttp.Start(t, httpgate.NewMiddleware(g)(http.NotFoundHandler()))
				client := s.Client()
				before := heap()
				for range calls {
					r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/a", nil)
					if err != nil {
						t.Fatal(err)
					}
					add(r)
					res, err := client.Do(r)
					if err != nil {
						t.Fatal(err)
					}
					_, _ = io.Copy(io.Discard, res.Body)
					_ = res.Body.Close()
				}
				client.CloseIdleConnections()
				synctest.Wait()
				if grown := int64(heap()) - int64(before); grown > calls*large/4 {
					t.Errorf("%d bytes are kept of %d calls", grown, calls)
				}
				if len(kept) != calls+1 || kept[1].Call.Route != "/a" {
					t.Errorf("%d events, want one for each call and the one that fills the gate", len(kept))
				}
			})
		})
	}
}

// heap returns how much memory is in use.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
