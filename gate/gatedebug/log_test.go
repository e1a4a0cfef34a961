package gatedebug

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/gate/gatelog"
)

// askLog sends a request to log and decodes the answer.
func askLog(t *testing.T, h http.Handler, method, body string, header http.Header) (status int, d logDetail, text string) {
	t.Helper()
	r := httptest.NewRequest(method, "http://localhost/debug/gate/log", strings.NewReader(body))
	r.Header = header
	if r.Header == nil {
		r.Header = http.Header{"Content-Type": {"application/json"}}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code == http.StatusOK {
		if err := json.Unmarshal(w.Body.Bytes(), &d); err != nil {
			t.Fatal(err)
		}
	}
	return w.Code, d, w.Body.String()
}

func TestThePageChangesTheLogForSomeTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := gatelog.New(slog.New(slog.DiscardHandler))
		defer log.Close()
		h := Handler(gate.Must(gate.New("db", 1)), WithControl(), WithLog(log))
		usual := logDetail{0.01, 100, 5, 300, 0}
		if status, d, text := askLog(t, h, http.MethodGet, "", nil); status != 200 || d != usual {
			t.Errorf("got %d and %s, want %+v", status, text, usual)
		}
		want := logDetail{1, 100, 5, 9999, 600}
		status, d, text := askLog(t, h, http.MethodPost, `{"sample_rate":1,"max_details":9999,"for_s":600}`, nil)
		if status != 200 || d != want {
			t.Errorf("got %d and %s, want %+v", status, text, want)
		}
		if d, left := log.Detail(); d.SampleRate != 1 || left != 10*time.Minute {
			t.Errorf("the log has %+v for %s", d, left)
		}
		if status, d, text := askLog(t, h, http.MethodPost, `{"for_s":0}`, nil); status != 200 || d != usual {
			t.Errorf("got %d and %s, want what the options say", status, text)
		}
	})
}

func TestBadChangesOfTheLogChangeNothing(t *testing.T) {
	log := gatelog.New(slog.New(slog.DiscardHandler))
	defer log.Close()
	g := gate.Must(gate.New("db", 1))
	full := Handler(g, WithControl(), WithLog(log))
	const change = `{"sample_rate":1,"for_s":600}`
	for _, test := range []struct {
		name   string
		h      http.Handler
		method string
		body   string
		header http.Header
		status int
		want   string
	}{
		{"no time", full, http.MethodPost, `{"sample_rate":1}`, nil, 400, "for_s"},
		{"no object", full, http.MethodPost, `null`, nil, 400, "for_s"},
		{"a bad rate", full, http.MethodPost, `{"sample_rate":2,"for_s":600}`, nil, 400, "SampleRate: want 0 to 1, got 2"},
		{"too long", full, http.MethodPost, `{"for_s":1e300}`, nil, 400, "at most 24h0m0s"},
		{"a form", full, http.MethodPost, change, http.Header{"Content-Type": {"text/plain"}}, 415, ""},
		{"another site", full, http.MethodPost, change,
			http.Header{"Content-Type": {"application/json"}, "Origin": {"http://evil.example"}}, 403, ""},
		{"without control", Handler(g, WithLog(log)), http.MethodPost, change, nil, 405, ""},
		{"without a log", Handler(g, WithControl()), http.MethodPost, change, nil, 405, ""},
		{"nothing to see", Handler(g), http.MethodGet, "", nil, 404, ""},
	} {
		status, _, text := askLog(t, test.h, test.method, test.body, test.header)
		if status != test.status || !strings.Contains(text, test.want) {
			t.Errorf("%s: got %d and %q, want %d and %q", test.name, status, text, test.status, test.want)
		}
	}
	if _, left := log.Detail(); left != 0 {
		t.Error("a bad request changed the log")
	}
}

func TestAddressesAreShortenedOrLeftOut(t *testing.T) {
	for want, opts := range map[string][]Option{
		"192.0.2.77":   nil,
		"192.0.2.0/24": {WithShortAddresses()},
		"":             {WithoutAddresses(), WithShortAddresses()},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := gate.Must(gate.New("db", 1))
			h := Handler(g, opts...)
			lease, err := g.TryAcquire(gate.Call{RemoteIP: "192.0.2.77"})
			if err != nil {
				t.Fatal(err)
			}
			defer lease.Release()
			_, _ = g.TryAcquire(gate.Call{RemoteIP: "192.0.2.77"}) // rejected: a test has no context to wait with
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/debug/gate/state.json", nil))
			text := w.Body.String()
			if n := strings.Count(text, "192.0.2"); want == "" && n != 0 || want != "" && (n != 2 || strings.Count(text, `"`+want+`"`) != 2) {
				t.Errorf("want the address %q twice, in a lease and a refusal:\n%s", want, text)
			}
		})
	}
}

func TestNoLoggerIsAMistake(t *testing.T) {
	defer func() {
		if got := recover(); got != "gatedebug: WithLog: want a logger, got nil" {
			t.Errorf("got %v", got)
		}
	}()
	Handler(gate.Must(gate.New("db", 1)), WithLog(nil))
}
