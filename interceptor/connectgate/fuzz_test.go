package connectgate_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/connectgate"
)

// FuzzNothingThatConnectServesPassesTheMiddleware asks a server with a full gate
// in all kinds of ways.
func FuzzNothingThatConnectServesPassesTheMiddleware(f *testing.F) {
	f.Add("POST", "", "application/json", "", "{}")
	f.Add("POST", "", "Application/JSON ;charset=utf-8", "1", "{}")
	f.Add("POST", "", "application/proto; a=b", "", "")
	f.Add("POST", "", "application/grpc+proto", "", "\x00\x00\x00\x00\x00")
	f.Add("POST", "", "application/grpc-web", "", "\x00\x00\x00\x00\x00")
	f.Add("POST", "", "application/connect+json", "1", "\x00\x00\x00\x00\x02{}")
	f.Add("GET", "connect=v1&encoding=json&message=%7B%7D", "", "", "")
	f.Add("GET", "enc%6fding=proto&base64=1&message", "", "", "")
	g, err := gate.New("db", 1, gate.WithMaxWait(0))
	if err != nil {
		f.Fatal(err)
	}
	fill(f, g)
	served := false
	h := connectgate.NewMiddleware(g)(handlerV1(func(context.Context) error { served = true; return nil }))
	f.Fuzz(func(t *testing.T, method, query, contentType, version, body string) {
		for _, route := range []string{unaryRoute, serverStreamRoute, clientStreamRoute, bidiRoute} {
			r := httptest.NewRequest(http.MethodPost, route, strings.NewReader(body))
			r.Method, r.URL = method, &url.URL{Path: route, RawQuery: query}
			r.ProtoMajor, r.ProtoMinor = 2, 0
			r.Header.Set("Content-Type", contentType)
			r.Header.Set("Connect-Protocol-Version", version)
			h.ServeHTTP(httptest.NewRecorder(), r)
			if served {
				t.Fatalf("%s %s?%s of %q was served", method, route, query, contentType)
			}
		}
	})
}
