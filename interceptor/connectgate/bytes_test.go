package connectgate_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/connectgate"
	"github.com/rpcgate/rpcgate/internal/memhttp"
)

// servers are the ways to gate Connect handlers, in front of one gate.
func servers(a gate.Admitter, w work) map[string]http.Handler {
	return map[string]http.Handler{
		"v1":            handlerV1(w, connectgate.NewInterceptor(a)),
		"v2":            handlerV2(w, connectgate.NewServerInterceptor(a)),
		"middleware/v1": connectgate.NewMiddleware(a)(handlerV1(w)),
		"middleware/v2": connectgate.NewMiddleware(a)(handlerV2(w)),
	}
}

// eachServer runs a test of a full gate with each of the servers.
func eachServer(t *testing.T, test func(t *testing.T, s *memhttp.Server), opts ...gate.Option) {
	for _, name := range []string{"v1", "v2", "middleware/v1", "middleware/v2"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGate(t, opts...)
				defer fill(t, g)()
				test(t, memhttp.Start(t, servers(g, nil)[name]))
			})
		})
	}
}

const (
	postUnary = "POST " + unaryRoute + " HTTP/1.1\nHost: test\nContent-Type: application/json\n" +
		"X-Request-Id: id-1\nContent-Length: 2\nConnection: close\n\n{}"
	getUnary = "GET " + unaryRoute + "?connect=v1&encoding=json&message=%7B%7D HTTP/1.1\nHost: test\n" +
		"X-Request-Id: id-1\nConnection: close\n\n"
)

func TestConnectUnaryIsRefusedWith429AndRetryAfterAndDetails(t *testing.T) {
	for name, request := range map[string]string{"POST": postUnary, "GET": getUnary} {
		t.Run(name, func(t *testing.T) {
			eachServer(t, func(t *testing.T, s *memhttp.Server) {
				res, body := exchange(t, s, request)
				checkUnaryHead(t, res, http.StatusTooManyRequests)
				checkError(t, body, "resource_exhausted", "LIMIT")
			})
		})
	}
}

func TestUnavailableIs503(t *testing.T) {
	eachServer(t, func(t *testing.T, s *memhttp.Server) {
		res, body := exchange(t, s, postUnary)
		checkUnaryHead(t, res, http.StatusServiceUnavailable)
		checkError(t, body, "unavailable", "LIMIT")
	}, gate.WithRefusal(gate.ServiceUnavailable))
}

func checkUnaryHead(t *testing.T, res *http.Response, status int) {
	t.Helper()
	if res.StatusCode != status {
		t.Errorf("status %s, want %d", res.Status, status)
	}
	if got := res.Header.Values("Retry-After"); !isRounded(got) {
		t.Errorf("Retry-After is %q, want 1.5 s, rounded up or down", got)
	}
	if got := res.Header.Get("Content-Type"); got != "application/json" {
		t.Errorf("Content-Type is %q", got)
	}
	for key := range res.Header {
		if strings.HasPrefix(key, "Grpc-") || strings.HasPrefix(key, "Trailer-") {
			t.Errorf("the header %s: %s is none of Connect's", key, res.Header.Get(key))
		}
	}
}

// wireError is the JSON of an error of the Connect protocol.
type wireError struct {
	Code    string
	Message string
	Details []struct {
		Type, Value string
		Debug       map[string]any
	}
}

func checkError(t *testing.T, text, code, reason string) {
	t.Helper()
	var e wireError
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if e.Code != code || e.Message != "server busy" {
		t.Errorf("got code %q and message %q", e.Code, e.Message)
	}
	var details []proto.Message
	for _, d := range e.Details {
		value, err := base64.RawStdEncoding.DecodeString(d.Value)
		if err != nil {
			t.Fatal(err)
		}
		m, err := (&anypb.Any{TypeUrl: "/" + d.Type, Value: value}).UnmarshalNew()
		if err != nil {
			t.Fatal(err)
		}
		details = append(details, m)
	}
	checkDetails(t, details, reason, "id-1")
	if got := e.Details[0].Debug["retryDelay"]; got != "1.500s" {
		t.Errorf("debug says %v of the delay, want 1.500s", got)
	}
}
