package pace

import (
	"io"
	"net/http"
	"os"
	"time"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/internal/exchange"
	"github.com/rpcgate/rpcgate/interceptor/internal/plain"
)

// writeSize is how much is written at once. A client that reads nothing is noticed after
// the grace and the time for so much.
const writeSize = 32 << 10

// Writer is the writer of a response that is bounded from [Writer.Admit] on: a client that
// reads too slowly is cut off. It has the optional methods of net/http's writers. They
// fail if the writer underneath does not have them.
type Writer struct {
	plain.Writer
	bound    bound
	exchange *exchange.Exchange // nil if the server was not configured
	headed   bool               // the headers were written
}

// Begin begins the exchange of a configured server, whose responses w writes.
func (w *Writer) Begin(r *http.Request) (*exchange.Exchange, *http.Request) {
	x, inner := exchange.Begin(w, r)
	x.Attach(w)
	w.exchange = x
	return x, inner
}

// WriteHeader writes the headers of the response.
func (w *Writer) WriteHeader(status int) {
	if status >= http.StatusOK {
		w.head()
	}
	w.ResponseWriter.WriteHeader(status)
}

// head is called before the headers are written, by WriteHeader or by what comes first
// without it.
func (w *Writer) head() {
	if !w.headed {
		w.headed = true
		w.exchange.BeforeHeader(w.Header())
	}
}

// NewWriter returns a Writer that is not bounded yet. When the handler has returned, End
// must be called.
func NewWriter(w http.ResponseWriter) *Writer {
	out := &Writer{Writer: plain.Writer{ResponseWriter: w}}
	out.bound.reason, out.bound.abort = gate.ReasonSlowResponse, out.abort
	return out
}

// Response returns the writer for the handler of an admitted call, and its Writer. On a
// server that was configured there is one already. It is w itself, and a nil Writer, if
// there is no bound.
func Response(w http.ResponseWriter, r *http.Request, lease gate.Lease, rate Rate) (http.ResponseWriter, *Writer) {
	if !rate.Bounds() {
		return w, nil
	}
	if x := exchange.From(r.Context()); x != nil {
		if attached, ok := x.Attached(r).(*Writer); ok {
			attached.Admit(lease, rate)
			return w, attached
		}
	}
	out := NewWriter(w)
	out.Admit(lease, rate)
	return out, out
}

// Attached is [Response] for a host without a ResponseWriter. It returns nil if there is
// nothing to bound.
func Attached(x *exchange.Exchange, lease gate.Lease, rate Rate) *Writer {
	if x == nil || !rate.Bounds() {
		return nil
	}
	w, _ := x.Attached(nil).(*Writer)
	if w != nil {
		w.Admit(lease, rate)
	}
	return w
}

// Admit begins the bound, for a call with the given lease. It ends when the lease is
// released.
func (w *Writer) Admit(lease gate.Lease, rate Rate) { w.bound.admit(lease, rate) }

// Slow reports whether the call was cut off because of its response.
func (w *Writer) Slow() bool { return w != nil && w.bound.isSlow() }

// End ends the bound when the handler has returned. The ResponseWriter is not used any
// more.
func (w *Writer) End() {
	if w != nil {
		w.bound.end()
	}
}

// Write writes in parts, so that it is known how much the client has taken.
func (w *Writer) Write(p []byte) (n int, err error) {
	w.head()
	for {
		part := p[n:min(n+writeSize, len(p))]
		bounded := w.bound.begin(len(part))
		m, err := w.ResponseWriter.Write(part)
		if bounded {
			w.bound.finish(m)
		}
		if n += m; err != nil || n >= len(p) || m < len(part) {
			return n, err
		}
	}
}

// Flush is FlushError for [http.Flusher].
func (w *Writer) Flush() { _ = w.FlushError() }

func (w *Writer) FlushError() error {
	w.head()
	if w.bound.begin(0) {
		defer w.bound.finish(0)
	}
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// ReadFrom copies a file in parts by the writer underneath, which has a fast way for that.
// Any other reader may wait for something that is not the client's fault: only what is
// written of it is timed.
func (w *Writer) ReadFrom(r io.Reader) (n int64, err error) {
	w.head()
	from, ok := w.ResponseWriter.(io.ReaderFrom)
	if !ok || !isFile(r) {
		return io.Copy(plain.Only{Writer: w}, r)
	}
	for {
		bounded := w.bound.begin(writeSize)
		m, err := from.ReadFrom(io.LimitReader(r, writeSize))
		if bounded {
			w.bound.finish(int(m))
		}
		if n += m; err != nil || m < writeSize {
			return n, err
		}
	}
}

// isFile reports whether r reads a regular file, as [http.ServeContent] does.
func isFile(r io.Reader) bool {
	if l, ok := r.(*io.LimitedReader); ok {
		r = l.R
	}
	f, ok := r.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode().IsRegular()
}

// abort makes the Write fail that waits, and what is written later.
func (w *Writer) abort() error {
	return http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(-time.Second))
}
