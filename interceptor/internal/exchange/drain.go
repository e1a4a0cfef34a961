package exchange

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"
)

// Limits for reading what is left of the body of a refused request.
const (
	// drainTime is how long it may take, and drainBytes how much may be read, if the
	// server was not configured: then nobody counts the drains of a connection.
	drainTime  = 50 * time.Millisecond
	drainBytes = 256 << 10

	// idleTime is how long it may take until bulkBytes have arrived: a client that
	// keeps a stream open is not sending.
	idleTime  = 10 * time.Millisecond
	bulkBytes = 16 << 10

	// arrivalTime is how long an answer over HTTP/1.1 waits for the rest of a body of
	// up to arrivalBytes, so that the connection can go on.
	arrivalTime  = 10 * time.Millisecond
	arrivalBytes = 64 << 10
)

// drain reads what the client is still sending of the body, before the response ends.
//
// Otherwise net/http resets the stream, first with NO_ERROR, which some clients take for
// a failure although they must not (RFC 9113, section 8.1; curl 7.88), then with
// STREAM_CLOSED when the rest of the body arrives. nginx 1.22 takes that for the answer
// to the next call on the connection and sends 502. Node 20 keeps what it could not send
// of a stream that was reset, until its session fails with ENHANCE_YOUR_CALM.
//
// A client that keeps its side of the stream open gets its answer 10 ms later.
func (x *Exchange) drain() {
	x.mu.Lock()
	again := x.drained
	x.drained = true
	x.mu.Unlock()
	if again || x.body.inner == nil || x.r.ContentLength == 0 || x.body.ended.Load() || x.expectsContinue() {
		return
	}
	most, allowed, leave := x.conn.enter()
	defer leave()
	if x.r.ContentLength > most {
		return // it could not be read to its end
	}
	h := x.hurry(min(idleTime, allowed))
	if h == nil {
		return
	}
	defer h.stop()
	read := x.discard(bulkBytes)
	if read == bulkBytes && h.extend(allowed) {
		read += x.discard(most - bulkBytes)
	}
	x.conn.returned(read)
}

// discard reads up to n bytes of the body. It ends earlier if the drains of the
// connection have read as much as all of them may. It returns how much it has read,
// which counts until it is returned.
func (x *Exchange) discard(n int64) (read int64) {
	_, _ = io.CopyN(io.Discard, readerFunc(func(p []byte) (int, error) {
		n, err := x.body.read(p)
		read += int64(n)
		if !x.conn.mayRead(int64(n)) && err == nil {
			err = io.ErrShortBuffer
		}
		return n, err
	}), n)
	return read
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// answerAtOnce prepares an answer over HTTP/1.1. net/http reads up to 256 KiB of the body
// before it sends the headers of an answer, however long that takes. A client that waits
// for the answer before it goes on would wait for ever.
//
// If the body arrives at once, as usual, all is well. Otherwise the connection is closed
// after the answer: then net/http sends it without reading.
func (x *Exchange) answerAtOnce(h Header) {
	if x.body.inner == nil || x.body.ended.Load() {
		return
	}
	// net/http closes the connection of a request that still expects to continue, but
	// first it waits for the body. Reading would send the 100 (RFC 9110, section 10.1.1).
	if x.expectsContinue() {
		x.setAtOnce()
		return
	}
	if x.arrives() || !HasDeadlines(x.w) {
		return // if not net/http's writer, perhaps in front of one that buffers
	}
	h.Set("Connection", "close")
	x.setAtOnce()
}

func (x *Exchange) setAtOnce() {
	x.mu.Lock()
	x.atOnce = true
	x.mu.Unlock()
}

// arrives reads the body, if it is small, and reports whether it ended in time.
func (x *Exchange) arrives() bool {
	if x.r.ContentLength > arrivalBytes {
		return false
	}
	h := x.hurry(arrivalTime)
	if h == nil {
		return false
	}
	defer h.stop()
	x.conn.returned(x.discard(arrivalBytes + 1))
	return x.body.ended.Load()
}

// finish is what is left to do for a refused call when its handler has returned.
func (x *Exchange) finish() {
	if x.r.ProtoMajor >= 2 {
		x.drain()
		return
	}
	x.mu.Lock()
	answered := x.answered || x.attached == nil
	atOnce := x.atOnce
	x.mu.Unlock()
	if !atOnce {
		return
	}
	if answered { // or the handler has panicked before
		// What nobody has read when the connection is closed makes TCP reset it,
		// and the client may lose the answer. So it is sent first.
		_ = http.NewResponseController(x.w).Flush()
		x.drain()
	}
	if !x.body.ended.Load() {
		// When the handler has returned, net/http wants to read up to 256 KiB more.
		_ = x.SetReadDeadline(time.Now().Add(idleTime))
	}
}

// expectsContinue reports whether the client waits for "100 Continue", which net/http
// sends when the body is read.
func (x *Exchange) expectsContinue() bool {
	return x.r.Header["Expect"] != nil && !x.body.begun.Load()
}

// isLate reports whether a read failed because of its deadline.
func isLate(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }
