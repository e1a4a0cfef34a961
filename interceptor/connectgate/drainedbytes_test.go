package connectgate_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/connectgate"
)

// countedBody is a body of n bytes.
type countedBody struct {
	n, read, closed int
}

func (b *countedBody) Read(p []byte) (int, error) {
	n := min(len(p), b.n-b.read)
	if b.read += n; n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (b *countedBody) Close() error {
	b.closed++
	return nil
}

// hurriedWriter counts the deadlines for reading, if it has any.
type hurriedWriter struct {
	*httptest.ResponseRecorder
	err       error
	deadlines int
}

func (w *hurriedWriter) SetReadDeadline(time.Time) error {
	w.deadlines++
	return w.err
}

// serveHTTP2 has h serve a gRPC call with a body of n bytes and a Content-Length.
func serveHTTP2(h http.Handler, w http.ResponseWriter, n int, contentLength int64) *countedBody {
	body := &countedBody{n: n}
	r := httptest.NewRequest(http.MethodPost, bidiRoute, http.NoBody)
	r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/2.0", 2, 0
	r.Header.Set("Content-Type", "application/grpc+proto")
	r.Body, r.ContentLength = body, contentLength
	h.ServeHTTP(w, r)
	return body
}

func TestAtMost256KiBOfARefusedRequestAreRead(t *testing.T) {
	const most = 256 << 10
	g := gate.Must(gate.New("db", 1, gate.WithMaxWait(0)))
	defer fill(t, g)()
	handlers := map[string]http.Handler{
		"Middleware": connectgate.NewMiddleware(g)(http.NotFoundHandler()),
		"TrailersOnly": connectgate.TrailersOnly(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_ = r.Body.Close()
			fail(w)
		})),
	}
	for name, h := range handlers {
		for _, test := range []struct {
			bytes         int
			contentLength int64
			noDeadlines   error
			want          int
		}{
			{10 * most, -1, nil, most},
			{100, -1, nil, 100},
			{most, most, nil, most},
			{most + 1, most + 1, nil, 0}, // too many are yet to come
			{100, 0, nil, 0},             // none will come
			{100, -1, http.ErrNotSupported, 0},
		} {
			w := &hurriedWriter{ResponseRecorder: httptest.NewRecorder(), err: test.noDeadlines}
			if body := serveHTTP2(h, w, test.bytes, test.contentLength); body.read != test.want {
				t.Errorf("%s: %+v: %d bytes were read", name, test, body.read)
			}
		}
	}
}

func TestBodyThatWasReadToItsEndIsJustClosed(t *testing.T) {
	for name, wrap := range map[string]func(http.Handler) http.Handler{
		"TrailersOnly": connectgate.TrailersOnly, "Transcoded": connectgate.Transcoded,
	} {
		for _, whole := range []bool{true, false} {
			h := wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if whole {
					_, _ = io.Copy(io.Discard, r.Body)
				}
				_ = r.Body.Close()
				fail(w)
			}))
			w := &hurriedWriter{ResponseRecorder: httptest.NewRecorder()}
			body := serveHTTP2(h, w, 100, -1)
			if body.closed != 1 || (w.deadlines == 0) != whole {
				t.Errorf("%s, whole %t: closed %d times after %d deadlines", name, whole, body.closed, w.deadlines)
			}
			if drained := body.read == 100; drained != (whole || name == "TrailersOnly") {
				t.Errorf("%s, whole %t: %d bytes were read", name, whole, body.read)
			}
		}
	}
}

// TestTranscodedBodyWithoutDeadlinesIsClosedToo has a transcoder that feeds the body from memory: only Close
// ends a Read.
func TestTranscodedBodyWithoutDeadlinesIsClosedToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		read := make(chan error, 1)
		h := connectgate.Transcoded(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			go func() {
				_, err := r.Body.Read(make([]byte, 1))
				read <- err
			}()
			synctest.Wait()
			_ = r.Body.Close()
			_ = r.Body.Close()
			if _, err := r.Body.Read(make([]byte, 1)); err == nil {
				t.Error("a body that was closed can be read")
			}
			fail(w)
		}))
		body, feed := io.Pipe()
		defer feed.Close()
		r := httptest.NewRequest(http.MethodPost, bidiRoute, body)
		r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/2.0", 2, 0
		r.Header.Set("Content-Type", "application/grpc+proto")
		began := time.Now()
		h.ServeHTTP(&hurriedWriter{ResponseRecorder: httptest.NewRecorder()}, r)
		if err := <-read; err == nil {
			t.Error("the body was read")
		}
		if took := time.Since(began); took != 20*time.Millisecond {
			t.Errorf("the handler took %s", took)
		}
	})
}
