package gatedebug

import (
	"context"
	"io/fs"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

func TestEveryAnswerHasTheHeaders(t *testing.T) {
	h := newPage(nil, WithControl())
	for _, tc := range []struct {
		method, path string
		code         int
		contentType  string
	}{
		{"GET", "/debug/gate/", 200, "text/html; charset=utf-8"},
		{"HEAD", "/debug/gate/", 200, "text/html; charset=utf-8"},
		{"GET", "/", 200, "text/html; charset=utf-8"},
		{"GET", "/somewhere/else/page.js", 200, "text/javascript; charset=utf-8"},
		{"GET", "/debug/gate/page.css", 200, "text/css; charset=utf-8"},
		{"GET", "/debug/gate/icon.svg", 200, "image/svg+xml"},
		{"GET", "/debug/gate/state.json", 200, "application/json"},
		{"HEAD", "/debug/gate/state.json", 200, "application/json"},
		{"HEAD", "/debug/gate/events", 200, "text/event-stream"},
		{"GET", "/debug/gate/secret.html", 404, "text/plain; charset=utf-8"},
		{"GET", "/debug/gate/..%2fpage.go", 404, "text/plain; charset=utf-8"},
		{"POST", "/debug/gate/", 405, "text/plain; charset=utf-8"},
		{"DELETE", "/debug/gate/state.json", 405, "text/plain; charset=utf-8"},
		{"GET", "/debug/gate/control", 405, "text/plain; charset=utf-8"},
		{"POST", "/debug/gate/control", 415, "application/json"},
	} {
		w := request(h, tc.method, tc.path, "")
		if w.Code != tc.code || w.Header().Get("Content-Type") != tc.contentType {
			t.Errorf("%s %s: want %d %s, got %d %s", tc.method, tc.path, tc.code, tc.contentType, w.Code, w.Header().Get("Content-Type"))
		}
		if tc.method == "HEAD" && w.Body.Len() != 0 {
			t.Errorf("%s %s: has a body", tc.method, tc.path)
		}
		for name, want := range map[string]string{
			"Cache-Control":                "no-store",
			"X-Content-Type-Options":       "nosniff",
			"Referrer-Policy":              "no-referrer",
			"X-Frame-Options":              "DENY",
			"Cross-Origin-Resource-Policy": "same-origin",
			"Content-Security-Policy":      contentSecurityPolicy,
		} {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s %s: %s: want %q, got %q", tc.method, tc.path, name, want, got)
			}
		}
	}
}

func TestOtherMethodsAreToldWhichAreAllowed(t *testing.T) {
	for _, tc := range []struct {
		h                   http.Handler
		method, path, allow string
	}{
		{newPage(nil), "POST", "/debug/gate/", "GET, HEAD"},
		{newPage(nil), "PUT", "/debug/gate/events", "GET, HEAD"},
		{newPage(nil), "POST", "/debug/gate/control", "GET, HEAD"}, // read-only
		{newPage(nil, WithControl()), "GET", "/debug/gate/control", "POST"},
		{newPage(nil, WithControl()), "HEAD", "/debug/gate/control", "POST"},
	} {
		w := request(tc.h, tc.method, tc.path, "")
		if w.Code != 405 || w.Header().Get("Allow") != tc.allow {
			t.Errorf("%s %s: want 405 and %s, got %d and %q", tc.method, tc.path, tc.allow, w.Code, w.Header().Get("Allow"))
		}
	}
	if w := request(newPage(nil), "GET", "/debug/gate/control", ""); w.Code != 404 {
		t.Errorf("a read-only page has a control: %d", w.Code)
	}
}

func TestPolicyLetsNothingForeignIn(t *testing.T) {
	for _, bad := range []string{"unsafe", "*", "http:", "https:", "data:", "blob:"} {
		if strings.Contains(contentSecurityPolicy, bad) {
			t.Errorf("the policy allows %s", bad)
		}
	}
	for _, want := range []string{"default-src 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"} {
		if !strings.Contains(contentSecurityPolicy, want) {
			t.Errorf("the policy lacks %s", want)
		}
	}
}

// The page loads its own files only, all of them exist, and nothing in them would
// need more than the policy allows.
func TestPageIsSelfContained(t *testing.T) {
	refs := regexp.MustCompile(`(?:src|href)="([^"#]+)"|from "\./([^"]+)"`)
	inline := regexp.MustCompile(`(?i)<style|<script>|\sstyle=|\son\w+=|innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|javascript:`)
	seen := 0
	err := fs.WalkDir(assets, "assets", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := assets.ReadFile(name)
		if err != nil {
			return err
		}
		text := strings.ReplaceAll(string(b), "http://www.w3.org/2000/svg", "")
		if strings.Contains(text, "://") || strings.Contains(text, `"//`) {
			t.Errorf("%s refers to another site", name)
		}
		if found := inline.FindString(text); found != "" {
			t.Errorf("%s has %q, which the policy forbids", name, found)
		}
		for _, m := range refs.FindAllStringSubmatch(text, -1) {
			seen++
			if file := m[1] + m[2]; file != "state.json" {
				if w := request(newPage(nil), "GET", "/debug/gate/"+file, ""); w.Code != 200 {
					t.Errorf("%s refers to %s, which is not there", name, file)
				}
			}
		}
		return nil
	})
	if err != nil || seen < 10 {
		t.Errorf("%d references seen, %v", seen, err)
	}
}

func TestAcceptChoosesTheFormat(t *testing.T) {
	for accept, want := range map[string]string{
		"": "text/html; charset=utf-8",
		"text/html,application/xhtml+xml,*/*;q=0.8": "text/html; charset=utf-8",
		"*/*":                         "text/html; charset=utf-8",
		"application/json":            "application/json",
		"application/json, text/html": "application/json",
		"text/html, application/json": "text/html; charset=utf-8",
	} {
		w := request(newPage(nil), "GET", "/debug/gate/", "", "Accept", accept)
		if got := w.Header().Get("Content-Type"); got != want {
			t.Errorf("Accept %q: want %s, got %s", accept, want, got)
		}
	}
}

func TestOneGateOrSeveral(t *testing.T) {
	a, b := mustGate(t, "db", 1), mustGate(t, "reports", 1)
	for want, h := range map[string]http.Handler{
		"db":         Handler(a),
		"db reports": Handler([]*gate.Gate{a, b}),
		"reports":    Handler(b, WithMaxViewers(1)),
		"":           Handler([]*gate.Gate(nil)),
	} {
		var names []string
		for _, g := range decode[struct{ Gates []gateState }](t, request(h, "GET", "/state.json", "").Body.Bytes()).Gates {
			names = append(names, g.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("want the gates %q, got %q", want, got)
		}
	}
}

func TestMistakesPanic(t *testing.T) {
	a := mustGate(t, "db", 1)
	var none *gate.Gate
	for want, f := range map[string]func(){
		"Handler: want a gate, got nil as gate 1 of 1":                 func() { Handler(none) },
		"Handler: want a gate, got nil as gate 2 of 2":                 func() { Handler([]*gate.Gate{a, nil}) },
		`Handler: want gates with different names, got two named "db"`: func() { Handler([]*gate.Gate{a, mustGate(t, "db", 1)}) },
		"Health: want a gate, got nil as gate 1 of 1":                  func() { Health(nil) },
		`Health: want gates with different names, got two named "db"`:  func() { Health(a, mustGate(t, "db", 1)) },
		"Handler: want an option, got nil as option 1 of 1":            func() { Handler(a, nil) },
		"WithTraceID: want a function, got nil":                        func() { Handler(a, WithTraceID(nil)) },
		"WithMaxViewers: want a number above 0, got 0":                 func() { Handler(a, WithMaxViewers(0)) },
		"WithInterval: want 100ms or more, got 1ms":                    func() { Handler(a, WithInterval(time.Millisecond)) },
		"WithControl: want a host without scheme and port, got \"ops:80\"\nWithControl: want a host without scheme and port, got \"\"\n" +
			"WithControl: want a host without scheme and port, got \"http://ops\"": func() { Handler(a, WithControl("ops:80", "", "ok", "http://ops")) },
	} {
		mustPanic(t, "gatedebug: "+want, f)
	}
}

func TestAllMistakesAreNamedAtOnce(t *testing.T) {
	a := mustGate(t, "db", 1)
	mustPanic(t, "gatedebug: Handler: want a gate, got nil as gate 1 of 3\n"+
		"Handler: want gates with different names, got two named \"db\"\n"+
		"WithInterval: want 100ms or more, got 0s\n"+
		"Handler: want an option, got nil as option 2 of 3\n"+
		"WithMaxViewers: want a number above 0, got -1",
		func() { Handler([]*gate.Gate{nil, a, mustGate(t, "db", 1)}, WithInterval(0), nil, WithMaxViewers(-1)) })
	mustPanic(t, "gatedebug: Health: want a gate, got nil as gate 1 of 2\n"+
		"Health: want a gate, got nil as gate 2 of 2", func() { Health(nil, nil) })
}

func TestHandlerThatPanicsObservesNothing(t *testing.T) {
	db := mustGate(t, "db", 1, gate.WithMaxWait(0))
	asked := 0
	traceID := WithTraceID(func(context.Context) string { asked++; return "" })
	mustPanic(t, "gatedebug: WithMaxViewers: want a number above 0, got 0", func() { Handler(db, traceID, WithMaxViewers(0)) })
	hold(t, db, gate.Call{})
	refuse(t, db, gate.Call{})
	if asked != 0 {
		t.Error("a handler that was never made observes the gate")
	}
}

func TestGateGivenTwiceIsShownOnce(t *testing.T) {
	a, b := mustGate(t, "db", 1), mustGate(t, "reports", 1)
	p := newPage([]*gate.Gate{a, b, a})
	if len(p.hub.watches) != 2 {
		t.Errorf("want 2 gates, got %d", len(p.hub.watches))
	}
}
