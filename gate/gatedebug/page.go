package gatedebug

import (
	"embed"
	"net/http"
	"path"
	"strconv"
	"strings"

	"github.com/rpcgate/rpcgate/gate"
)

// assets is what the page is made of.
//
//go:embed assets
var assets embed.FS

// contentSecurityPolicy lets the page load its own files and talk to its own
// server. Nothing in it can run text as a script.
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types 'none'"

// page is the handler of the page and of all below it.
type page struct {
	config    config
	hub       *hub
	origins   *http.CrossOriginProtection
	shutdowns shutdowns
}

// Handler returns the page of the gates, read-only; see [New].
func Handler(gates ...*gate.Gate) http.Handler { return New(gates) }

// New returns the page of the gates, with options. It may be mounted at any path
// that ends with a slash. A gate that is given twice is shown once.
//
// The gates tell it of their calls from now on, for good: make one handler and
// keep it. It panics if a gate is nil, or if two have the same name.
//
// A page that is open does not delay [http.Server.Shutdown].
func New(gates []*gate.Gate, opts ...Option) http.Handler {
	gates = distinct("New", gates)
	c := newConfig(opts)
	p := &page{config: c, origins: http.NewCrossOriginProtection(), hub: &hub{
		config: c, byName: make(map[string]*watch, len(gates)), viewers: make(map[*viewer]struct{}),
	}}
	keep := min(max(maxRejections/max(len(gates), 1), minRejections), maxRejectionsEach)
	for i, g := range gates {
		w := attach(g, i, keep, c.traceID)
		p.hub.watches = append(p.hub.watches, w)
		p.hub.byName[g.Name()] = w
	}
	return p
}

// distinct returns the gates, each once.
func distinct(what string, gates []*gate.Gate) []*gate.Gate {
	seen := make(map[string]*gate.Gate, len(gates))
	var out []*gate.Gate
	for i, g := range gates {
		if g == nil {
			misuse("%s: gate %d of %d is nil", what, i+1, len(gates))
		}
		switch seen[g.Name()] {
		case g:
		case nil:
			seen[g.Name()] = g
			out = append(out, g)
		default:
			misuse("%s: two gates have the name %q", what, g.Name())
		}
	}
	return out
}

// ServeHTTP finds what is asked for by the last part of the path, so that it does
// not matter where the handler is mounted.
func (p *page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setHeaders(w.Header())
	name := ""
	if !strings.HasSuffix(r.URL.Path, "/") {
		name = path.Base(r.URL.Path)
	}
	if name == "control" && p.config.control {
		p.serveControl(w, r)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		notAllowed(w, "GET, HEAD")
		return
	}
	switch {
	case name == "" && prefersJSON(r.Header.Get("Accept")), name == "state.json":
		p.serveState(w, r)
	case name == "":
		serveAsset(w, r, "page.html")
	case name == "events":
		p.serveEvents(w, r)
	default:
		serveAsset(w, r, name)
	}
}

// setHeaders sets the headers of every answer.
func setHeaders(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", contentSecurityPolicy)
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
}

func notAllowed(w http.ResponseWriter, allow string) {
	w.Header().Set("Allow", allow)
	http.Error(w, "method not allowed, use "+allow, http.StatusMethodNotAllowed)
}

// serveAsset sends a file of the page.
func serveAsset(w http.ResponseWriter, r *http.Request, name string) {
	types := map[string]string{
		".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
		".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
	}
	b, err := assets.ReadFile("assets/" + name)
	if err != nil || types[path.Ext(name)] == "" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", types[path.Ext(name)])
	send(w, r, b)
}

// send writes the body of an answer, or only its length to a HEAD request.
func send(w http.ResponseWriter, r *http.Request, b []byte) {
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(b)
	}
}
