package connectgate

import (
	"net/http"

	"github.com/rpcgate/rpcgate/interceptor/internal/exchange"
	"github.com/rpcgate/rpcgate/interceptor/internal/mistake"
)

// TrailersOnly lets gRPC clients retry what the handlers in h refuse. The handlers may
// be those of Connect, of either version, and [grpc.Server.ServeHTTP]. Put it around
// the handler of the whole server, outside everything that writes:
//
//	srv := &http.Server{Handler: connectgate.TrailersOnly(mux)}
//
// A gRPC client retries a call, after the delay that the server asks for, only if the
// answer is a single block of headers that ends the stream ("Trailers-Only"). Connect
// and grpc.Server.ServeHTTP send an error as headers followed by trailers, so clients
// never retry. TrailersOnly holds back the headers of a gRPC response until a message
// follows them. If the call ends with an error before that, it sends the trailers as
// headers. A refusal is sent together with all other response headers, which a client
// then finds in the trailer. If a handler sets headers of its own and fails with
// another error, headers and trailers are sent apart, as without TrailersOnly.
//
// When a handler closes the request's body before it has sent a message, TrailersOnly
// first reads what the client is still sending, up to 256 KiB and for up to 50 ms; on a
// server that httpgate.ConfigureServer has configured, up to 4 MiB. Otherwise net/http
// would reset the stream, which harms other calls of some clients and proxies. Only
// clients that keep their side of a stream open notice the delay.
//
// Everything else stays the same: calls that send messages or succeed, headers that a
// handler flushes, gRPC-Web and Connect calls, HTTP/1.1, and all other requests. The
// writer that a handler of gRPC calls gets has the methods Flush and Unwrap, for
// [http.ResponseController]. A handler that is neither Connect's nor grpc-go's, and
// that announces trailers, must call WriteHeader before it flushes headers.
//
// The handler is safe for concurrent use. TrailersOnly panics if h is nil.
//
// [grpc.Server.ServeHTTP]: https://pkg.go.dev/google.golang.org/grpc#Server.ServeHTTP
func TrailersOnly(h http.Handler) http.Handler {
	checkHandler("TrailersOnly", h)
	return holding(h, false)
}

// checkHandler panics if h is nil.
func checkHandler(function string, h http.Handler) {
	if h == nil {
		mistake.Panic(pkg, mistake.Nil(function, "a handler"))
	}
}

// holding serves gRPC calls with a heldWriter, and other requests as they are.
func holding(h http.Handler, retryAfter bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 || !isGRPC(r) {
			h.ServeHTTP(w, r)
			return
		}
		held := &heldWriter{ResponseWriter: w, retryAfter: retryAfter, closes: !exchange.From(r.Context()).OverHTTP2()}
		x, r, end := exchange.Of(w, r)
		defer end() // also after a panic, from which a caller may recover
		defer held.setSent()
		if retryAfter {
			x.CloseUnreadIf(held.unsent)
		} else {
			x.DrainIf(held.unsent)
		}
		if _, ok := w.(http.Flusher); ok {
			h.ServeHTTP(held, r)
		} else {
			h.ServeHTTP(unflushable{held}, r)
		}
		held.finish() // not after a panic, which resets the stream
	})
}
