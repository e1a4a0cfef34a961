package gatedebug

import (
	"embed"
	"errors"
	"net/http"
	"path"
	"strconv"
	"strings"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/gate/internal/distinct"
)

// assets has the files of the page.
//
//go:embed assets
var assets embed.FS

// contentSecurityPolicy lets the page load its own files and call its own server.
// The page cannot run text as a script.
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types 'none'"

// maxQuery is the largest size of a query in bytes. The largest useful one names many
// gates of state.json.
const maxQuery = 8192

// page is the handler of the page and of everything below it.
type page struct {
	config    config
	hub       *hub
	origins   *http.CrossOriginProtection
	shutdowns shutdowns
}

// Handler returns the page of one gate or of several:
//
//	gatedebug.Handler(db)
//	gatedebug.Handler([]*gate.Gate{db, reports}, gatedebug.WithMaxViewers(4))
//
// Mount it at any path that ends with a slash. A gate that is given twice is shown
// once. An open page does not delay [http.Server.Shutdown].
//
// The gates report their calls to the handler from now on, and never stop: make
// one handler and keep it. Handler panics if a gate is nil, two gates have the
// same name, or an option has a bad value.
func Handler[G *gate.Gate | []*gate.Gate](gates G, opts ...Option) http.Handler {
	several, ok := any(gates).([]*gate.Gate)
	if !ok {
		several = []*gate.Gate{any(gates).(*gate.Gate)}
	}
	return newPage(several, opts...)
}

func newPage(gates []*gate.Gate, opts ...Option) *page {
	gates, err := distinct.Gates("Handler", gates)
	c, badOptions := newConfig(opts)
	must(errors.Join(err, badOptions))
	p := &page{config: c, origins: http.NewCrossOriginProtection(), hub: &hub{
		config: c, byName: make(map[string]*watch, len(gates)), viewers: make(map[*viewer]struct{}),
	}}
	keep := min(max(maxRejections/max(len(gates), 1), minRejections), maxRejectionsEach)
	p.hub.mu.Lock() // the gates may be in trouble already
	defer p.hub.mu.Unlock()
	for i, g := range gates {
		w := attach(g, i, keep, c, p.hub.alarm)
		p.hub.watches = append(p.hub.watches, w)
		p.hub.byName[g.Name()] = w
	}
	return p
}

// ServeHTTP looks only at the last part of the path, so the handler can be mounted
// anywhere.
func (p *page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setHeaders(w.Header())
	if n := len(r.URL.RawQuery); n > maxQuery {
		fail(w, http.StatusRequestURITooLong, "query", strconv.Itoa(n)+" bytes", "want at most %d bytes", maxQuery)
		return
	}
	name := ""
	if !strings.HasSuffix(r.URL.Path, "/") {
		name = path.Base(r.URL.Path)
	}
	if name == "control" && p.config.control {
		p.serveControl(w, r)
		return
	}
	if name == "log" && p.config.log != nil {
		p.serveLog(w, r)
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

// setHeaders sets the headers that every response has.
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

// send writes the body of a response, or only its length if the method is HEAD.
func send(w http.ResponseWriter, r *http.Request, b []byte) {
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(b)
	}
}
