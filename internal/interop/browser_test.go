//go:build interop

package interop

import (
	"net/http"
	"testing"
	"time"

	"connectrpc.com/cors"
	rscors "github.com/rs/cors"

	"github.com/rpcgate/rpcgate/interceptor/connectgate"
	"github.com/rpcgate/rpcgate/interceptor/httpgate"
	"github.com/rpcgate/rpcgate/internal/interop/js"
)

// chromium opens a page that calls the targets, all of another origin, and returns what it saw of each.
func chromium(t *testing.T, targets []target) []sighting {
	t.Helper()
	if err := js.Install(t.Context(), "js"); err != nil {
		t.Fatal(err)
	}
	var seen []sighting
	if err := js.InBrowser(t.Context(), "js", t.TempDir(), targets, &seen); err != nil {
		t.Fatal(err)
	}
	if len(seen) != len(targets) {
		t.Fatalf("%d results of %d", len(seen), len(targets))
	}
	return seen
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
