package server

import (
	"net/http"

	connectcors "connectrpc.com/cors"
	"github.com/rs/cors"
)

// withCORS lets pages of all origins call h, since the demo knows no users. A service with cookies lists the origins of
// its own pages. It goes around the gates: otherwise a refusal would not say who may read it, and fetch would fail.
func withCORS(h http.Handler) http.Handler {
	return cors.New(cors.Options{
		AllowedOrigins: []string{"*"},
		AllowedMethods: connectcors.AllowedMethods(),
		AllowedHeaders: append(connectcors.AllowedHeaders(), "X-Request-Id"),
		// Without the last two, a page could not read when to try again.
		ExposedHeaders: append(connectcors.ExposedHeaders(), "Retry-After", "Grpc-Retry-Pushback-Ms"),
		MaxAge:         7200, // seconds, the most that Chromium takes
	}).Handler(h)
}
