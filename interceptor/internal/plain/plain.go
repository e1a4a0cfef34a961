// Package plain has what the hosts' writers around an http.ResponseWriter share: the
// optional methods of net/http's writers that they do not change.
package plain

import (
	"bufio"
	"io"
	"net"
	"net/http"
)

// Writer is to be embedded in a writer around another one. Its optional methods fail if
// the writer underneath does not have them.
type Writer struct{ http.ResponseWriter }

// Unwrap is for [http.ResponseController].
func (w Writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Hijack gives the connection to the handler.
func (w Writer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return http.NewResponseController(w.ResponseWriter).Hijack()
}

// Push pushes a resource over HTTP/2.
func (w Writer) Push(target string, opts *http.PushOptions) error {
	if p, ok := w.ResponseWriter.(http.Pusher); ok {
		return p.Push(target, opts)
	}
	return http.ErrNotSupported
}

// Only hides all but Write, so that io.Copy does not call ReadFrom again.
type Only struct{ io.Writer }
