// Package opening releases a lease when the first bytes of an HTTP response were
// written, for routes with gate.HoldOpening.
package opening

import (
	"bufio"
	"io"
	"net"
	"net/http"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/internal/plain"
)

// Writer returns a ResponseWriter that writes to w and releases the lease when the
// first bytes of the body were written, or could not be written, or the connection was
// hijacked. It has the optional methods of net/http's writers. They fail if w does not
// have them.
func Writer(w http.ResponseWriter, lease gate.Lease) http.ResponseWriter {
	return &writer{Writer: plain.Writer{ResponseWriter: w}, lease: lease}
}

type writer struct {
	plain.Writer
	lease  gate.Lease
	opened bool
}

func (w *writer) open() {
	if !w.opened {
		w.opened = true
		w.lease.Release()
	}
}

func (w *writer) Write(b []byte) (int, error) {
	n, err := w.ResponseWriter.Write(b)
	if len(b) > 0 {
		w.open()
	}
	return n, err
}

// ReadFrom copies in chunks until the first one was written.
func (w *writer) ReadFrom(r io.Reader) (int64, error) {
	from, ok := w.ResponseWriter.(io.ReaderFrom)
	if !ok || !w.opened {
		return io.Copy(plain.Only{Writer: w}, r)
	}
	return from.ReadFrom(r)
}

func (w *writer) Flush() { _ = w.FlushError() }

func (w *writer) FlushError() error { return http.NewResponseController(w.ResponseWriter).Flush() }

// Hijack gives the connection to the handler. The gate does not learn when the
// handler is done with it, so the lease ends here.
func (w *writer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buf, err := w.Writer.Hijack()
	if err == nil {
		w.open()
	}
	return conn, buf, err
}
