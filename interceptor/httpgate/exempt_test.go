package httpgate_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/httpgate"
)

// ask returns the status of a request to a handler.
func ask(h http.Handler, method, path string, header http.Header) int {
	r := httptest.NewRequest(method, path, nil)
	r.Header = header
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code
}

// fullGate makes a gate that refuses all calls.
func fullGate(t *testing.T) *gate.Gate {
	g := gate.Must(gate.New("db", 1, gate.WithMaxWait(0)))
	fill(t, g)
	return g
}

// policy makes a policy for all routes, with more rules.
func policy(t *testing.T, g *gate.Gate, more ...gate.Rule) *gate.Policy {
	t.Helper()
	p, err := gate.NewPolicy(append(more, gate.Route("*", g))...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestOnlyProbesPassAFullGate(t *testing.T) {
	g := fullGate(t)
	for name, a := range map[string]gate.Admitter{"gate": g, "policy": policy(t, g), "own admitter": only{g}} {
		h := httpgate.NewMiddleware(a)(http.HandlerFunc(ok))
		for _, test := range []struct {
			method, path string
			want         int
		}{
			{"GET", "/health", 200}, {"GET", "/healthz", 200}, {"GET", "/livez", 200}, {"GET", "/readyz", 200},
			{"HEAD", "/health", 200}, {"HEAD", "/healthz", 200}, {"HEAD", "/livez", 200}, {"HEAD", "/readyz", 200},
			{"GET", "/readyz?verbose", 200},
			{"POST", "/healthz", 429}, {"PUT", "/readyz", 429}, {"OPTIONS", "/healthz", 429},
			{"GET", "/healthz/", 429}, {"GET", "/readyz/db", 429}, {"GET", "/api/healthz", 429}, {"GET", "/Healthz", 429},
			{"GET", "/healthcheck", 429}, {"GET", "/", 429},
		} {
			if got := ask(h, test.method, test.path, nil); got != test.want {
				t.Errorf("%s: %s %s: %d, want %d", name, test.method, test.path, got, test.want)
			}
		}
	}
}

// only is an Admitter of which nothing else is known.
type only struct{ gate.Admitter }

func TestProbeWithARuleIsGated(t *testing.T) {
	g := fullGate(t)
	gated := httpgate.NewMiddleware(policy(t, g, gate.Route("/healthz", g)))
	mux := http.NewServeMux()
	mux.Handle("GET /healthz", gated(http.HandlerFunc(ok)))
	mux.Handle("GET /readyz", gated(http.HandlerFunc(ok)))
	for name, h := range map[string]http.Handler{"in the mux": mux, "around it": gated(http.HandlerFunc(ok))} {
		for path, want := range map[string]int{"/healthz": 429, "/readyz": 200} {
			if got := ask(h, http.MethodGet, path, nil); got != want {
				t.Errorf("%s: %s: %d, want %d", name, path, got, want)
			}
		}
	}
}

func TestOnlyPreflightsPassAFullGate(t *testing.T) {
	g := fullGate(t)
	h := httpgate.NewMiddleware(policy(t, g))(http.HandlerFunc(ok))
	const origin, method = "Origin", "Access-Control-Request-Method"
	for _, test := range []struct {
		method string
		header http.Header
		want   int
	}{
		{"OPTIONS", http.Header{origin: {"https://a.test"}, method: {"PUT"}}, 200},
		{"OPTIONS", nil, 429},
		{"OPTIONS", http.Header{origin: {"https://a.test"}}, 429},
		{"OPTIONS", http.Header{method: {"PUT"}}, 429},
		{"PUT", http.Header{origin: {"https://a.test"}, method: {"PUT"}}, 429},
		{"GET", http.Header{origin: {"https://a.test"}, method: {"GET"}}, 429},
	} {
		if got := ask(h, test.method, "/orders", test.header); got != test.want {
			t.Errorf("%s with %v: %d, want %d", test.method, test.header, got, test.want)
		}
	}
}
