package httpgate_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor"
	"github.com/rpcgate/rpcgate/interceptor/httpgate"
	"github.com/rpcgate/rpcgate/internal/memhttp"
)

// bytesOf is the cost function of a gate that counts bytes.
func bytesOf(c gate.Call) int64 { return c.Size }

// TestChunkedUploadsDoNotGetAroundABudgetOfBytes has 50 uploads of 1 MiB at once at a budget of 1 MiB.
func TestChunkedUploadsDoNotGetAroundABudgetOfBytes(t *testing.T) {
	const uploads, size = 50, 1 << 20
	for name, test := range map[string]struct {
		options []httpgate.Option
		want    int64 // admitted
	}{
		"by default":    {nil, size / gate.DefaultUnknownSize},
		"as they are":   {[]httpgate.Option{interceptor.WithUnknownSize(size)}, 1},
		"far too large": {[]httpgate.Option{interceptor.WithUnknownSize(1 << 40)}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := gate.Must(gate.New("bytes", size, gate.WithMaxWait(0), gate.WithCost(bytesOf)))
				var admitted atomic.Int64
				hold := make(chan struct{})
				s := memhttp.Start(t, httpgate.NewMiddleware(g, test.options...)(http.HandlerFunc(
					func(_ http.ResponseWriter, r *http.Request) {
						if n, err := io.Copy(io.Discard, r.Body); n != size || err != nil {
							t.Errorf("read %d bytes and error %v", n, err)
						}
						admitted.Add(1)
						<-hold
					})))
				wait := s.Uploads(uploads, "/upload", "application/octet-stream", size)
				synctest.Wait()
				if n := admitted.Load(); n != test.want {
					t.Errorf("%d uploads were admitted, want %d", n, test.want)
				}
				close(hold)
				wait()
			})
		})
	}
}

func TestSizeIsThatOfTheBody(t *testing.T) {
	body := func() io.Reader { return bytes.NewReader(make([]byte, 12)) }
	for name, test := range map[string]struct {
		method string
		body   func() io.Reader // may return nil
		want   int64
	}{
		"GET":             {http.MethodGet, func() io.Reader { return nil }, 0},
		"POST, empty":     {http.MethodPost, func() io.Reader { return nil }, 0},
		"POST":            {http.MethodPost, body, 12},
		"POST, in chunks": {http.MethodPost, func() io.Reader { return struct{ io.Reader }{body()} }, gate.SizeUnknown},
	} {
		for version, clientOf := range map[string]func(*memhttp.Server) *http.Client{
			"HTTP/1.1": (*memhttp.Server).Client, "HTTP/2": (*memhttp.Server).ClientHTTP2,
		} {
			t.Run(name+", "+version, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					size := int64(-99)
					g := newGate(t, gate.WithOnEvent(func(_ context.Context, e gate.Event) { size = e.Call.Size }))
					s := memhttp.Start(t, httpgate.NewMiddleware(g)(http.NotFoundHandler()))
					r, err := http.NewRequestWithContext(t.Context(), test.method, s.URL+"/a?query=is+no+body", test.body())
					if err != nil {
						t.Fatal(err)
					}
					res, err := clientOf(s).Do(r)
					if err != nil {
						t.Fatal(err)
					}
					_ = res.Body.Close()
					synctest.Wait()
					if size != test.want {
						t.Errorf("size %d, want %d", size, test.want)
					}
				})
			})
		}
	}
}
