package connectgate_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor"
	"github.com/rpcgate/rpcgate/interceptor/connectgate"
	"github.com/rpcgate/rpcgate/internal/memhttp"
)

// TestChunkedCallsDoNotGetAroundABudgetOfBytes has 50 calls of 1 MiB at once at a budget of 1 MiB.
func TestChunkedCallsDoNotGetAroundABudgetOfBytes(t *testing.T) {
	const calls, size = 50, 1 << 20
	for _, contentType := range []string{"application/proto", "application/grpc+proto", "application/connect+proto"} {
		for name, test := range map[string]struct {
			options []connectgate.Option
			want    int64 // admitted
		}{
			"by default":  {nil, size / gate.DefaultUnknownSize},
			"as they are": {[]connectgate.Option{interceptor.WithUnknownSize(size)}, 1},
		} {
			t.Run(contentType+", "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					g := gate.Must(gate.New("bytes", size, gate.WithMaxWait(0),
						gate.WithCost(func(c gate.Call) int64 { return c.Size })))
					var admitted atomic.Int64
					hold := make(chan struct{})
					s := memhttp.Start(t, connectgate.NewMiddleware(g, test.options...)(http.HandlerFunc(
						func(_ http.ResponseWriter, r *http.Request) {
							_, _ = io.Copy(io.Discard, r.Body)
							admitted.Add(1)
							<-hold
						})))
					wait := s.Uploads(calls, unaryRoute, contentType, size)
					synctest.Wait()
					if n := admitted.Load(); n != test.want {
						t.Errorf("%d calls were admitted, want %d", n, test.want)
					}
					close(hold)
					wait()
				})
			})
		}
	}
}

// TestSizeIsThatOfTheBody has calls whose size can be known before they are read, and such whose cannot.
func TestSizeIsThatOfTheBody(t *testing.T) {
	chunked := strings.Replace(strings.Replace(postUnary, "Content-Length: 2", "Transfer-Encoding: chunked", 1),
		"\n\n{}", "\n\n2\n{}\n0\n\n", 1)
	for name, test := range map[string]struct {
		request string
		want    int64
		server  []string
	}{
		"POST":            {postUnary, 2, []string{"v2", "middleware/v1", "middleware/v2"}},
		"POST, in chunks": {chunked, gate.SizeUnknown, []string{"v2", "middleware/v1", "middleware/v2"}},
		"GET":             {getUnary, 0, []string{"v2", "middleware/v1", "middleware/v2"}},
		"POST, decoded":   {postUnary, gate.SizeUnknown, []string{"v1"}},
	} {
		for _, server := range test.server {
			t.Run(name+", "+server, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					size := int64(-99)
					g := newGate(t, gate.WithOnEvent(func(_ context.Context, e gate.Event) { size = e.Call.Size }))
					exchange(t, memhttp.Start(t, servers(g, nil)[server]), test.request)
					if size != test.want {
						t.Errorf("size %d, want %d", size, test.want)
					}
				})
			})
		}
	}
}

func TestSizeOfGRPCIsUnknown(t *testing.T) {
	eachShape(t, func(t *testing.T, route string) {
		for _, server := range []string{"v1", "v2", "middleware/v1", "middleware/v2"} {
			size := int64(-99)
			g := newGate(t, gate.WithOnEvent(func(_ context.Context, e gate.Event) { size = e.Call.Size }))
			s := memhttp.Start(t, servers(g, nil)[server])
			if err := callGRPC(t.Context(), dialGRPC(t, s), route); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if size != gate.SizeUnknown {
				t.Errorf("%s: size %d, want it unknown", server, size)
			}
		}
	})
}

func TestSizeOfAClientsCallIsUnknown(t *testing.T) {
	for version, callsOf := range map[string]func(*memhttp.Server, gate.Admitter) map[string]call{"v1": callsV1, "v2": callsV2} {
		synctest.Test(t, func(t *testing.T) {
			size := int64(-99)
			g := newGate(t, gate.WithOnEvent(func(_ context.Context, e gate.Event) { size = e.Call.Size }))
			for route, call := range callsOf(memhttp.Start(t, handlerV1(nil)), g) {
				if err := call(t.Context()); err != nil {
					t.Fatal(err)
				}
				if size != gate.SizeUnknown {
					t.Errorf("%s, %s: size %d, want it unknown", version, route, size)
				}
				size = -99
			}
		})
	}
}
