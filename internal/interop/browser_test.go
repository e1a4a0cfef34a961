//go:build interop

package interop

import (
	"context"
	"encoding/json"
	"net/http"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/cors"
	rscors "github.com/rs/cors"

	"github.com/rpcgate/rpcgate/interceptor/connectgate"
	"github.com/rpcgate/rpcgate/interceptor/httpgate"
)

// page runs web.mjs, whose imports a browser finds by this map.
const page = `<!doctype html><title>interop</title><script type="importmap">{"imports": {
	"@bufbuild/protobuf": "/node_modules/@bufbuild/protobuf/dist/esm/index.js",
	"@bufbuild/protobuf/codegenv2": "/node_modules/@bufbuild/protobuf/dist/esm/codegenv2/index.js",
	"@bufbuild/protobuf/wire": "/node_modules/@bufbuild/protobuf/dist/esm/wire/index.js",
	"@bufbuild/protobuf/wkt": "/node_modules/@bufbuild/protobuf/dist/esm/wkt/index.js",
	"@connectrpc/connect": "/node_modules/@connectrpc/connect/dist/esm/index.js",
	"@connectrpc/connect/protocol": "/node_modules/@connectrpc/connect/dist/esm/protocol/index.js",
	"@connectrpc/connect/protocol-connect": "/node_modules/@connectrpc/connect/dist/esm/protocol-connect/index.js",
	"@connectrpc/connect/protocol-grpc-web": "/node_modules/@connectrpc/connect/dist/esm/protocol-grpc-web/index.js",
	"@connectrpc/connect-web": "/node_modules/@connectrpc/connect-web/dist/esm/index.js"
}}</script><script type="module" src="/web.mjs"></script>`

// chromium opens a page that calls the targets, all of another origin, and returns what it saw of each.
func chromium(t *testing.T, targets []target) []sighting {
	t.Helper()
	if err := npmInstall(); err != nil {
		t.Fatal(err)
	}
	seen := make(chan []sighting, 1)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(page))
	})
	mux.Handle("GET /", http.FileServer(http.Dir("js")))
	mux.HandleFunc("GET /job", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"descriptors": descriptors(t), "targets": targets})
	})
	mux.HandleFunc("POST /report", func(_ http.ResponseWriter, r *http.Request) {
		var all []sighting
		if err := json.NewDecoder(r.Body).Decode(&all); err != nil {
			t.Error(err)
		}
		seen <- all
	})
	url := "http://" + serveHTTP(t, mux)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	browser := exec.CommandContext(ctx, "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
		"--disable-quic", "--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--remote-debugging-port=0", // or it ends when the page has loaded
		"--user-data-dir="+t.TempDir(), url)
	browser.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // it is several processes
	browser.Cancel = func() error { return syscall.Kill(-browser.Process.Pid, syscall.SIGKILL) }
	browser.WaitDelay = 10 * time.Second
	if err := browser.Start(); err != nil {
		t.Fatalf("%v (on Debian: apt-get install chromium)", err)
	}
	defer func() {
		cancel()
		_ = browser.Wait() // its error is that it was killed
	}()
	select {
	case all := <-seen:
		if len(all) != len(targets) {
			t.Fatalf("%d results of %d", len(all), len(targets))
		}
		return all
	case <-ctx.Done():
		t.Fatal("the page did not report in time")
		return nil
	}
}

// withCORS lets pages of all origins call h and read the headers of a refusal, as the README says.
func withCORS(h http.Handler) http.Handler {
	return exposing(h, append(cors.ExposedHeaders(), "Retry-After", "Grpc-Retry-Pushback-Ms"))
}

func exposing(h http.Handler, headers []string) http.Handler {
	return rscors.New(rscors.Options{
		AllowedOrigins: []string{"*"},
		AllowedMethods: cors.AllowedMethods(),
		AllowedHeaders: append(cors.AllowedHeaders(), "X-Request-Id"),
		ExposedHeaders: headers,
	}).Handler(h)
}

// plain is a handler of plain HTTP that is not reached.
func plain() http.Handler { return http.NotFoundHandler() }

func TestPagesOfOtherOriginsSeeWhatTheyAreRefusedWith(t *testing.T) {
	g := newGate(t, 2*time.Second, -1)
	var targets []target
	for _, h := range []http.Handler{connectV1(g), connectV2(g), connectgate.NewMiddleware(g)(connectV1(g))} {
		url := "http://" + serveHTTP(t, connectgate.TrailersOnly(withCORS(h)))
		for _, shape := range []string{"unary", "stream"} {
			targets = append(targets, target{Protocol: "connect", URL: url, Shape: shape},
				target{Protocol: "connect", URL: url, Shape: shape, UseHTTPGet: true},
				target{Protocol: "grpc-web", URL: url, Shape: shape})
		}
	}
	targets = append(targets, target{Protocol: "fetch", URL: "http://" + serveHTTP(t, withCORS(httpgate.NewMiddleware(g)(plain())))})
	for i, got := range chromium(t, targets) {
		want := sighting{Code: "ResourceExhausted", Message: "server busy", RetryDelayMs: 2000, Reason: "LIMIT",
			Domain: "rpcgate", RequestID: "from-js"}
		switch targets[i].Protocol {
		case "connect":
			want.RetryAfter = "2"
		case "grpc-web":
			want.Pushback = "2000"
		case "fetch":
			want = sighting{Code: "429", RetryAfter: "2"}
		}
		if got != want {
			t.Errorf("%+v:\ngot  %+v\nwant %+v", targets[i], got, want)
		}
	}
	checkAttempts(t, g, uint64(len(targets)), 0) // preflights are none
}

// With CORS inside of the gate, a refusal does not say which origins may read it.
func TestPagesOfOtherOriginsSeeNothingOfARefusalOutsideCORS(t *testing.T) {
	g := newGate(t, 2*time.Second, -1)
	rpc := "http://" + serveHTTP(t, connectgate.NewMiddleware(g)(withCORS(connectV1(g))))
	targets := []target{
		{Protocol: "connect", URL: rpc, Shape: "unary"},
		{Protocol: "grpc-web", URL: rpc, Shape: "unary"},
		{Protocol: "fetch", URL: "http://" + serveHTTP(t, httpgate.NewMiddleware(g)(withCORS(plain())))},
	}
	for i, got := range chromium(t, targets) {
		want := sighting{Code: "Unknown", Message: "Failed to fetch"}
		if targets[i].Protocol == "fetch" {
			want.Code = ""
		}
		if got != want {
			t.Errorf("%+v:\ngot  %+v\nwant %+v", targets[i], got, want)
		}
	}
	checkAttempts(t, g, uint64(len(targets)), 0) // the preflights have passed
}

// Without the two headers of rpcgate among those that CORS exposes.
func TestPagesOfOtherOriginsReadOnlyExposedHeaders(t *testing.T) {
	g := newGate(t, 2*time.Second, -1)
	rpc := "http://" + serveHTTP(t, exposing(connectV1(g), cors.ExposedHeaders()))
	targets := []target{
		{Protocol: "connect", URL: rpc, Shape: "unary"},
		{Protocol: "grpc-web", URL: rpc, Shape: "unary"},
		{Protocol: "fetch", URL: "http://" + serveHTTP(t, exposing(httpgate.NewMiddleware(g)(plain()), nil))},
	}
	for i, got := range chromium(t, targets) {
		want := sighting{Code: "ResourceExhausted", Message: "server busy", RetryDelayMs: 2000, Reason: "LIMIT",
			Domain: "rpcgate", RequestID: "from-js"}
		if targets[i].Protocol == "fetch" {
			want = sighting{Code: "429"}
		}
		if got != want {
			t.Errorf("%+v:\ngot  %+v\nwant %+v", targets[i], got, want)
		}
	}
}
