package connectgate

import (
	"net/http"

	"github.com/rpcgate/rpcgate/interceptor/internal/mistake"
)

// TrailersOnly lets gRPC clients retry what the handlers in h refuse: those of
// Connect, of either version, and [grpc.Server.ServeHTTP]. It is for the handler
// of the whole server, outside of all that writes:
//
//	srv := &http.Server{Handler: connectgate.TrailersOnly(mux)}
//
// A gRPC client retries a call, after the delay that the server asks for, only
// if the answer is one block of headers that ends the stream: "Trailers-Only".
// Connect and grpc.Server.ServeHTTP send an error as headers and, apart from
// them, trailers, because net/http was thought to allow nothing else. So clients
// do not retry, whatever their policy and the server's pushback say. TrailersOnly
// holds the headers of a gRPC response back until a message follows them. If the
// call ends with an error before that, its trailers are sent as headers. A
// refusal is sent together with what response headers there are, which a client
// then finds in the trailer; any other error of a handler that has set headers
// of its own is sent as before, headers and trailers apart.
//
// When a handler closes the request's body before it has sent a message, what is on
// its way of the body is taken in first, up to 16 KiB and for up to 10 ms: net/http
// would reset the stream otherwise, and proxies take the reset for the answer to
// another call. Only clients that keep their side of a stream open notice.
//
// Everything else is as without it: calls that send messages or succeed, headers
// that a handler sends ahead of its messages, gRPC-Web and Connect calls,
// HTTP/1.1, and all other requests. The writer that handlers of gRPC calls get
// has the optional methods Flush and Unwrap, for [http.ResponseController]. A
// handler that neither is Connect's nor grpc-go's, and that announces trailers,
// must call WriteHeader to send headers ahead, not only Flush.
//
// There is nothing to configure. The handler is safe for concurrent use. A nil h
// panics.
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

// holding serves gRPC calls with a heldWriter, and all else as it is.
func holding(h http.Handler, retryAfter bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 || !isGRPC(r) {
			h.ServeHTTP(w, r)
			return
		}
		held := &heldWriter{ResponseWriter: w, retryAfter: retryAfter}
		defer held.setOver() // after a panic, too: the server goes on if somebody recovers
		if drainable(r) {
			r.Body = newDrainedBody(held, r.Body)
		}
		if _, ok := w.(http.Flusher); ok {
			h.ServeHTTP(held, r)
		} else {
			h.ServeHTTP(unflushable{held}, r)
		}
		held.finish() // not after a panic, which resets the stream
	})
}
