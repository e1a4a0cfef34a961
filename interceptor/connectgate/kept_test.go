package connectgate_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	connectv2 "connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"

	"github.com/rpcgate/rpcgate/gate"
	testv1connectv2 "github.com/rpcgate/rpcgate/gen/connectv2/rpcgate/test/v1/testv1connect"
	"github.com/rpcgate/rpcgate/interceptor/connectgate"
)

// TestRoutesOfRefusedCallsDoNotKeepTheirURLs has calls whose URLs are much longer than their routes. An observer keeps
// what the gate tells of them.
func TestRoutesOfRefusedCallsDoNotKeepTheirURLs(t *testing.T) {
	const calls, large = 20, 400_000
	middleware := func(g *gate.Gate) http.Handler { return connectgate.NewMiddleware(g)(http.NotFoundHandler()) }
	unknown := func(g *gate.Gate) http.Handler {
		s := connectv2.NewServer(connectgate.NewServerInterceptor(g))
		testv1connectv2.RegisterEchoServiceHandler(s, echoV2{})
		s.SetUnknownHandler(func(context.Context, connectv2.Spec, connectv2.ServerStream) error { return nil })
		mux := http.NewServeMux()
		connecthttp.Mount(mux, s)
		return mux
	}
	madeUp := unaryRoute + "MadeUp"
	filler := strings.Repeat("x", large)
	for name, test := range map[string]struct {
		serve       func(*gate.Gate) http.Handler
		method, url string
		want        string
	}{
		"middleware, known":            {middleware, "GET", unaryRoute + "?encoding=json&message={}&x=" + filler, unaryRoute},
		"middleware, known, by prefix": {middleware, "POST", "/" + filler + unaryRoute, unaryRoute},
		"middleware, unknown":          {middleware, "POST", "/" + filler + "/a.B/C", "/a.B/C"},
		"v2, unknown":                  {unknown, "POST", madeUp + "?x=" + filler, madeUp},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var kept []gate.Event
				g := newGate(t, gate.WithOnEvent(func(_ context.Context, e gate.Event) { kept = append(kept, e) }))
				defer fill(t, g)()
				h := test.serve(g)
				before := heap()
				for range calls {
					r := httptest.NewRequest(test.method, test.url, strings.NewReader("{}"))
					r.Header.Set("Content-Type", "application/json")
					h.ServeHTTP(httptest.NewRecorder(), r)
				}
				if grown := int64(heap()) - int64(before); grown > calls*large/4 {
					t.Errorf("%d bytes are kept of %d calls", grown, calls)
				}
				if len(kept) != calls+1 || kept[1].Call.Route != test.want {
					t.Errorf("%d events, want one for each call and the one that fills the gate", len(kept))
				}
			})
		})
	}
}

// heap returns how much memory is in use.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
