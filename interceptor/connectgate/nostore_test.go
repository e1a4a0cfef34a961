package connectgate_test

import (
	"net/http"
	"slices"
	"testing"
	"testing/synctest"

	"connectrpc.com/vanguard"
	"google.golang.org/genproto/googleapis/api/annotations"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/gen/rpcgate/test/v1/testv1connect"
	"github.com/rpcgate/rpcgate/interceptor/connectgate"
	"github.com/rpcgate/rpcgate/interceptor/grpcgate"
	"github.com/rpcgate/rpcgate/internal/memhttp"
)

// getREST is the call of getUnary by REST; see transcoder.
const getREST = "GET /v1/echo?text=hello HTTP/1.1\nHost: test\nX-Request-Id: id-1\nConnection: close\n\n"

// transcoder serves REST clients with the calls of h.
func transcoder(t *testing.T, h http.Handler, opts ...vanguard.ServiceOption) http.Handler {
	t.Helper()
	rest, err := vanguard.NewTranscoder([]*vanguard.Service{vanguard.NewService(testv1connect.EchoServiceName, h, opts...)},
		vanguard.WithRules(&annotations.HttpRule{
			Selector: testv1connect.EchoServiceName + ".Unary",
			Pattern:  &annotations.HttpRule_Get{Get: "/v1/echo"},
		}))
	if err != nil {
		t.Fatal(err)
	}
	return rest
}

func TestRefusalOfAGetIsNotStored(t *testing.T) {
	const (
		maxAge  = "public, max-age=3600" // set by a handler further out
		noStore = "no-store"
	)
	// Connect adds its headers to those that are set already, unless the server is
	// configured. A cache obeys no-store, whatever stands beside it.
	replaced, added := []string{noStore}, []string{maxAge, noStore}
	for _, test := range []struct {
		name, request string
		handler       func(t *testing.T, g *gate.Gate) http.Handler
		want          []string
	}{
		{"v1", getUnary, func(_ *testing.T, g *gate.Gate) http.Handler { return servers(g, nil)["v1"] }, added},
		{"v2", getUnary, func(_ *testing.T, g *gate.Gate) http.Handler { return servers(g, nil)["v2"] }, added},
		{"middleware", getUnary, func(_ *testing.T, g *gate.Gate) http.Handler { return servers(g, nil)["middleware/v1"] }, replaced},
		{"REST over v1", getREST, func(t *testing.T, g *gate.Gate) http.Handler { return transcoder(t, servers(g, nil)["v1"]) }, added},
		{"REST over v2", getREST, func(t *testing.T, g *gate.Gate) http.Handler { return transcoder(t, servers(g, nil)["v2"]) }, added},
		{"REST over the middleware", getREST, func(t *testing.T, g *gate.Gate) http.Handler {
			return transcoder(t, servers(g, nil)["middleware/v1"])
		}, replaced},
		{"REST over gRPC", getREST, func(t *testing.T, g *gate.Gate) http.Handler {
			return transcoder(t, connectgate.Transcoded(handlerGRPC(nil, grpcgate.ServerOptions(g)...)),
				vanguard.WithTargetProtocols(vanguard.ProtocolGRPC), vanguard.WithTargetCodecs(vanguard.CodecProto))
		}, replaced},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGate(t)
				defer fill(t, g)()
				h := test.handler(t, g)
				cacheable := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Cache-Control", maxAge)
					h.ServeHTTP(w, r)
				})
				check := func(s *memhttp.Server, want []string) {
					t.Helper()
					res, body := exchange(t, s, test.request)
					if res.StatusCode != http.StatusTooManyRequests || !isRounded(res.Header.Values("Retry-After")) {
						t.Errorf("%s, %v, %s: want 429 and a delay", res.Status, res.Header, body)
					}
					if got := res.Header.Values("Cache-Control"); !slices.Equal(got, want) {
						t.Errorf("Cache-Control %q, want %q", got, want)
					}
				}
				check(memhttp.Start(t, h), replaced)
				check(memhttp.Start(t, cacheable), test.want)
				check(configured(t, cacheable), replaced)
			})
		})
	}
}
