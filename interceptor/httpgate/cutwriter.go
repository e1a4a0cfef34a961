package httpgate

import (
	"bufio"
	"io"
	"net"
	"net/http"

	"github.com/rpcgate/rpcgate/interceptor/internal/pace"
	"github.com/rpcgate/rpcgate/interceptor/internal/plain"
	"github.com/rpcgate/rpcgate/interceptor/internal/refusal"
)

// cutWriter is the writer of a request with a body. If the client was too slow, it answers
// with that, and drops what the handler makes of the failed Read. It has the optional
// methods of net/http's writers. They fail if the writer underneath does not have them.
type cutWriter struct {
	plain.Writer
	request *http.Request
	body    *pace.Body
	wrote   bool // the headers
	cut     bool // they are those of slowRequest
}

func (w *cutWriter) WriteHeader(status int) {
	switch {
	case w.cut:
	case !w.wrote && w.body.Slow():
		w.answer()
	default:
		w.wrote = w.wrote || status >= http.StatusOK || status == http.StatusSwitchingProtocols
		w.ResponseWriter.WriteHeader(status)
	}
}

func (w *cutWriter) Write(b []byte) (int, error) {
	if w.begin(); w.cut {
		return len(b), nil
	}
	return w.ResponseWriter.Write(b)
}

// begin writes the answer to a slow client, unless the handler's was written before.
func (w *cutWriter) begin() {
	if !w.wrote && !w.cut && w.body.Slow() {
		w.answer()
	}
	w.wrote = true
}

// finish is called when the handler has returned.
func (w *cutWriter) finish() { w.begin() }

func (w *cutWriter) answer() {
	w.wrote, w.cut = true, true
	h := w.ResponseWriter.Header()
	for _, key := range []string{"Content-Encoding", "Content-Range", "Etag", "Last-Modified", "Trailer"} {
		h.Del(key) // of the handler's answer
	}
	if w.request.ProtoMajor == 1 { // the rest of the body does not come
		h.Set("Connection", "close")
	}
	slow := refusal.SlowRequest()
	refusal.Body{Error: slow.Name}.Write(w.ResponseWriter, w.request, slow.HTTPStatus)
}

func (w *cutWriter) ReadFrom(r io.Reader) (int64, error) {
	w.begin()
	from, ok := w.ResponseWriter.(io.ReaderFrom)
	if !ok || w.cut {
		return io.Copy(plain.Only{Writer: w}, r)
	}
	return from.ReadFrom(r)
}

func (w *cutWriter) Flush() { _ = w.FlushError() }

func (w *cutWriter) FlushError() error {
	w.begin()
	return http.NewResponseController(w.ResponseWriter).Flush()
}

func (w *cutWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.wrote = true
	return w.Writer.Hijack()
}
