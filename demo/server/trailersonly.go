package server

import (
	"net/http"
	"strings"
)

// trailersOnly lets gRPC clients retry what grpc.Server refuses.
//
// A gRPC client retries a failed call only if the response is Trailers-Only: one block of headers that also ends the
// stream. A grpc.Server with its own listener sends that, but its ServeHTTP flushes empty headers first and sends the
// status in trailers after them, so that no refusal would ever be retried, whatever retryPolicy a client has. The
// writer holds that first flush back; a call that ends without a message then has its status sent as headers.
func trailersOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		held := &trailersOnlyWriter{ResponseWriter: w}
		next.ServeHTTP(held, r)
		held.finish()
	})
}

type trailersOnlyWriter struct {
	http.ResponseWriter
	started bool // headers or a message are meant to be sent
}

func (w *trailersOnlyWriter) WriteHeader(code int) {
	w.started = true
	w.ResponseWriter.WriteHeader(code)
}

func (w *trailersOnlyWriter) Write(b []byte) (int, error) {
	w.started = true
	return w.ResponseWriter.Write(b)
}

// Flush does nothing before the first WriteHeader or Write: it is not how a handler says that it wants its headers
// sent (for that, grpc.Server calls WriteHeader), but how grpc.Server parts headers from trailers.
func (w *trailersOnlyWriter) Flush() {
	if f, ok := w.ResponseWriter.(http.Flusher); ok && w.started {
		f.Flush()
	}
}

// finish turns trailers that are still waiting into headers. net/http ends the stream with them.
func (w *trailersOnlyWriter) finish() {
	if w.started {
		return
	}
	h := w.Header()
	h.Del("Trailer")
	for key, values := range h {
		if name, ok := strings.CutPrefix(key, http.TrailerPrefix); ok {
			delete(h, key)
			h[http.CanonicalHeaderKey(name)] = values
		}
	}
}
