package connectgate

import (
	"maps"
	"net/http"
	"strings"
	"sync"

	"github.com/rpcgate/rpcgate/interceptor/internal/refusal"
)

const (
	trailerKey    = "Trailer"
	grpcStatusKey = "Grpc-Status"
)

// heldWriter holds back the headers of a response until a message follows or the
// handler flushes them. See [TrailersOnly].
type heldWriter struct {
	http.ResponseWriter
	retryAfter bool // add a Retry-After; see Transcoded
	closes     bool // the client behind the transcoder may be one of HTTP/1.1

	// sent means that nothing is held any more. Only the handler's goroutine writes
	// it, under the lock. Other goroutines read it under the lock.
	sent bool
	lock sync.Mutex

	// committed are the headers as they were when the handler called WriteHeader,
	// or Flush, which sets flush. What it sets afterwards are trailers.
	committed http.Header
	flush     bool
}

// Unwrap is for [http.ResponseController].
func (w *heldWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader holds back a 200, since an error may follow. Responses with another
// status are not gRPC's, or come before the response.
func (w *heldWriter) WriteHeader(status int) {
	switch {
	case w.sent || status < http.StatusOK:
		w.ResponseWriter.WriteHeader(status)
	case w.committed != nil: // only the first status counts
	case status == http.StatusOK:
		w.committed = w.Header().Clone()
	default:
		w.setSent()
		w.ResponseWriter.WriteHeader(status)
	}
}

func (w *heldWriter) setSent() {
	w.lock.Lock()
	w.sent = true
	w.lock.Unlock()
}

// unsent reports whether nothing was sent yet. Unlike other methods it may be called on
// any goroutine.
func (w *heldWriter) unsent() bool {
	w.lock.Lock()
	defer w.lock.Unlock()
	return !w.sent
}

// Write sends the headers, if they are held back, and a message.
func (w *heldWriter) Write(b []byte) (int, error) {
	w.send()
	return w.ResponseWriter.Write(b)
}

// Flush is FlushError for [http.Flusher].
func (w *heldWriter) Flush() { _ = w.FlushError() }

// FlushError sends the headers. It holds them back, however, if there are trailers
// and no WriteHeader came first: that is how Connect ends a call, and how grpc-go
// separates the trailers from the headers.
func (w *heldWriter) FlushError() error {
	if !w.sent && w.committed == nil && hasTrailers(w.Header()) {
		w.committed, w.flush = w.Header().Clone(), true
		return nil
	}
	w.send()
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// send writes the headers that were held back, as they were when the handler was done
// with them.
func (w *heldWriter) send() {
	if w.sent {
		return
	}
	w.setSent()
	if w.committed == nil {
		return
	}
	h := w.Header()
	now := maps.Clone(h)
	replace(h, w.committed)
	w.ResponseWriter.WriteHeader(http.StatusOK)
	if w.flush {
		_ = w.FlushError()
	}
	replace(h, now)
}

// finish ends the response when the handler has returned. If the call has ended with
// an error and no message was sent, the trailers become headers: then net/http has
// nothing else to send and ends the stream with them.
func (w *heldWriter) finish() {
	if w.sent {
		return
	}
	h := w.Header()
	headers := w.committed
	if headers == nil {
		headers = h.Clone()
	}
	trailers := trailersOf(headers, h)
	status := first(trailers, grpcStatusKey)
	// If the handler has set headers of its own, and no pushback, headers and
	// trailers are sent apart, as grpc-go does.
	told := len(trailers[refusal.PushbackHeader]) > 0
	if status == "" || status == "0" || !told && hasOwnHeaders(headers, trailers) {
		w.send()
		return
	}
	for key := range headers {
		if key == trailerKey || strings.HasPrefix(key, http.TrailerPrefix) {
			delete(headers, key)
		}
	}
	if w.committed == nil {
		for key := range trailers {
			delete(headers, key)
		}
	}
	for key, values := range trailers {
		if strings.HasPrefix(key, "Grpc-") {
			headers[key] = values // not appended: clients obey only a single pushback
		} else {
			headers[key] = append(headers[key], values...)
		}
	}
	if told && w.retryAfter {
		addHTTP(headers, trailers, w.closes)
	}
	headers["Content-Length"] = nil // otherwise net/http adds it
	replace(h, headers)
	w.setSent()
	w.ResponseWriter.WriteHeader(http.StatusOK)
}

// trailersOf returns the trailers that net/http would send: those of h that headers
// announces, and those with http.TrailerPrefix.
func trailersOf(headers, h http.Header) http.Header {
	trailers := make(http.Header)
	for _, names := range headers[trailerKey] {
		for name := range strings.SplitSeq(names, ",") {
			key := http.CanonicalHeaderKey(strings.TrimSpace(name))
			if values := h[key]; len(values) > 0 && validTrailer(key) {
				trailers[key] = values
			}
		}
	}
	for marked, values := range h {
		if name, ok := strings.CutPrefix(marked, http.TrailerPrefix); ok && len(values) > 0 {
			if key := http.CanonicalHeaderKey(name); validTrailer(key) {
				trailers[key] = values
			}
		}
	}
	return trailers
}

func hasTrailers(h http.Header) bool {
	if len(h[trailerKey]) > 0 {
		return true
	}
	for key := range h {
		if strings.HasPrefix(key, http.TrailerPrefix) {
			return true
		}
	}
	return false
}

// validTrailer reports whether net/http sends a trailer of this name.
func validTrailer(key string) bool {
	switch key {
	case "Authorization", "Cache-Control", "Connection", "Content-Encoding", "Content-Length", "Content-Range",
		"Content-Type", "Expect", "Host", "Keep-Alive", "Max-Forwards", "Pragma", "Proxy-Authenticate",
		"Proxy-Authorization", "Proxy-Connection", "Range", "Realm", "Te", "Trailer", "Transfer-Encoding",
		"Www-Authenticate":
		return false
	default:
		return key != "" && !strings.HasPrefix(key, "If-")
	}
}

// replace gives the map h the contents of with.
func replace(h, with http.Header) {
	clear(h)
	maps.Copy(h, with)
}

// unflushable hides the Flush of a heldWriter from Connect and grpc-go, if the writer
// underneath has none.
type unflushable struct{ http.ResponseWriter }

// Unwrap is for [http.ResponseController].
func (w unflushable) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// hasOwnHeaders reports whether the handler has set headers that are not part of the
// protocol.
func hasOwnHeaders(headers, trailers http.Header) bool {
	for key := range headers {
		switch {
		case key == trailerKey, key == "Content-Type", key == "Date", trailers[key] != nil:
		case strings.HasPrefix(key, "Grpc-"), strings.HasPrefix(key, http.TrailerPrefix):
		default:
			return true
		}
	}
	return false
}
