package connectgate_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"github.com/rpcgate/rpcgate/interceptor/connectgate"
	"github.com/rpcgate/rpcgate/internal/memhttp"
)

// lockedBody is a body as middleware may wrap it: it holds a lock while it closes the one inside. A second caller at the
// same time, which a mutex would have wait for ever, panics.
type lockedBody struct {
	io.ReadCloser
	locked atomic.Bool
}

func (b *lockedBody) Read(p []byte) (int, error) {
	defer b.lock()()
	return b.ReadCloser.Read(p)
}

func (b *lockedBody) Close() error {
	defer b.lock()()
	return b.ReadCloser.Close()
}

func (b *lockedBody) lock() (unlock func()) {
	if !b.locked.CompareAndSwap(false, true) {
		panic("deadlock")
	}
	return func() { b.locked.Store(false) }
}

// fail ends a gRPC call with an error, without a message.
func fail(w http.ResponseWriter) { w.Header().Set(http.TrailerPrefix+"Grpc-Status", "8") }

// TestRefusalOfAnOpenStreamIsDrainedForTenMilliseconds has handlers that do what they like with a request's Body. The
// client keeps its side of the stream open.
func TestRefusalOfAnOpenStreamIsDrainedForTenMilliseconds(t *testing.T) {
	for name, closeBody := range map[string]func(r *http.Request){
		"closed": func(r *http.Request) { _ = r.Body.Close() },
		"closed twice": func(r *http.Request) {
			_ = r.Body.Close()
			_ = r.Body.Close()
		},
		"wrapped in a lock": func(r *http.Request) {
			r.Body = &lockedBody{ReadCloser: r.Body}
			_ = r.Body.Close()
		},
		"taken away": func(r *http.Request) {
			body := r.Body
			r.Body = nil
			_ = body.Close()
		},
		"read elsewhere": func(r *http.Request) {
			body := r.Body
			go func() { _, _ = io.Copy(io.Discard, body) }()
			synctest.Wait()
			_ = body.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					closeBody(r)
					fail(w)
				})
				began := time.Now()
				frames := callHTTP2(t, memhttp.Start(t, connectgate.TrailersOnly(h)), bidiRoute, false, nil, "hello")
				if len(frames) != 1 || frames[0].kind != http2.FrameHeaders || !frames[0].end {
					t.Errorf("got %v, want one frame of headers", frames)
				}
				if took := time.Since(began); took != 10*time.Millisecond {
					t.Errorf("the answer took %s", took)
				}
			})
		})
	}
}

// TestBodyOfACallThatAnswersIsNotDrained has a handler that is done with the body, but not with its answer.
func TestBodyOfACallThatAnswersIsNotDrained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		h := connectgate.TrailersOnly(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, envelope(0, "one"))
			_ = r.Body.Close()
			fmt.Fprint(w, envelope(0, "two"))
			if took := time.Since(began); took != 0 {
				t.Errorf("the answer took %s", took)
			}
			w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
		}))
		callHTTP2(t, memhttp.Start(t, h), bidiRoute, false, nil, "hello")
	})
}

// TestBodyMayBeClosedWhileTheHandlerWrites says something with -race only.
func TestBodyMayBeClosedWhileTheHandlerWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := connectgate.TrailersOnly(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			closed := make(chan error)
			go func() { closed <- r.Body.Close() }()
			fmt.Fprint(w, envelope(0, "text"))
			if err := <-closed; err != nil {
				t.Error(err)
			}
			w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
		}))
		callHTTP2(t, memhttp.Start(t, h), bidiRoute, false, nil, "hello")
	})
}

// deadlineWriter is a writer that must not be used when its handler has returned, as that of net/http.
type deadlineWriter struct {
	*httptest.ResponseRecorder
	entered  chan struct{}
	returned atomic.Bool
	late     atomic.Bool
}

func (w *deadlineWriter) SetReadDeadline(time.Time) error {
	close(w.entered)
	for range 10_000 {
		if w.returned.Load() {
			w.late.Store(true)
			break
		}
		runtime.Gosched()
	}
	return http.ErrNotSupported
}

// TestBodyThatIsDrainedWhenAMessageIsSentIsClosed has a client that keeps its side of the stream open.
func TestBodyThatIsDrainedWhenAMessageIsSentIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := connectgate.TrailersOnly(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			began, closed := time.Now(), make(chan error)
			go func() { closed <- r.Body.Close() }()
			synctest.Wait()
			fmt.Fprint(w, envelope(0, "text"))
			if err := <-closed; err != nil || time.Since(began) != 10*time.Millisecond {
				t.Errorf("closed after %s with error %v, want 10ms", time.Since(began), err)
			}
			w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
		}))
		callHTTP2(t, memhttp.Start(t, h), bidiRoute, false, nil, "hello")
	})
}

// TestWriterIsNotUsedAfterTheHandlerHasReturned has somebody else close the body, as the transport of a reverse proxy
// does, just before and after the handler returns or panics.
func TestWriterIsNotUsedAfterTheHandlerHasReturned(t *testing.T) {
	for name, end := range map[string]func(){
		"return": func() {},
		"panic":  func() { panic(http.ErrAbortHandler) },
	} {
		for _, late := range []bool{false, true} {
			w := &deadlineWriter{ResponseRecorder: httptest.NewRecorder(), entered: make(chan struct{})}
			closing, over := make(chan struct{}), make(chan struct{})
			h := connectgate.TrailersOnly(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				body := r.Body
				go func() {
					defer close(over)
					if late {
						<-closing
					}
					_ = body.Close()
				}()
				if !late {
					<-w.entered
				}
				end()
			}))
			func() {
				defer func() { _ = recover() }()
				r := httptest.NewRequest(http.MethodPost, bidiRoute, strings.NewReader("text"))
				r.Proto, r.ProtoMajor, r.ProtoMinor, r.ContentLength = "HTTP/2.0", 2, 0, -1
				r.Header.Set("Content-Type", "application/grpc")
				h.ServeHTTP(w, r)
			}()
			w.returned.Store(true)
			close(closing)
			if <-over; w.late.Load() {
				t.Errorf("%s: the writer was used afterwards", name)
			}
		}
	}
}
