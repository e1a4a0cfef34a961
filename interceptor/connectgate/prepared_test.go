package connectgate

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/internal/refusal"
	"github.com/rpcgate/rpcgate/interceptor/internal/refusal/details"
)

func TestPreparedJSONIsWhatConnectWouldHaveSent(t *testing.T) {
	for name, r := range refusalsForJSON(t) {
		e := connect.NewError(connect.Code(r.Code), errors.New(r.Message()))
		for _, packed := range details.Packed(r) { // whose bytes another test holds against protobuf's
			d, err := connect.NewErrorDetail(packed)
			if err != nil {
				t.Fatal(err)
			}
			e.AddDetail(d)
		}
		post := httptest.NewRequest(http.MethodPost, "/a.B/C", nil)
		post.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		if err := connect.NewErrorWriter().Write(w, post, e); err != nil {
			t.Fatal(err)
		}
		var got, want any
		if err := json.Unmarshal(w.Body.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		prepared := appendJSON(nil, r)
		if err := json.Unmarshal(prepared, &got); err != nil {
			t.Fatalf("%s: %v in %s", name, err, prepared)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: prepared\n%s\nConnect sends\n%s", name, prepared, w.Body)
		}
	}
}

func refusalsForJSON(t *testing.T) map[string]refusal.Refusal {
	t.Helper()
	out := map[string]refusal.Refusal{}
	for reason := range gate.ReasonDraining + 2 {
		r := &gate.Rejection{Reason: reason, RequestID: "id-1", RetryDelay: 1500 * time.Millisecond}
		out["reason "+reason.String()] = refusal.New(t.Context(), r, false)
	}
	for name, delay := range map[string]time.Duration{
		"no delay": 0, "whole seconds": 3 * time.Second, "20 ms": 20 * time.Millisecond, "3 ms": 3 * time.Millisecond,
		"rounded up": 1, "days": 100 * 24 * time.Hour,
	} {
		out[name] = refusal.New(t.Context(), &gate.Rejection{RetryDelay: delay, RequestID: "x"}, false)
	}
	odd := &gate.Rejection{Gate: `"g"<>`, RequestID: "\xff\"ä\\\n", InFlight: -1, Limit: 7, Reason: gate.ReasonLimit}
	out["odd id"] = refusal.New(t.Context(), odd, false)
	out["with state"] = refusal.New(t.Context(), odd, true)
	out["unavailable"] = refusal.New(t.Context(), &gate.Rejection{Refusal: gate.ServiceUnavailable}, false)
	return out
}

func TestProtocolOfARequestIsFound(t *testing.T) {
	for _, test := range []struct {
		method, url, contentType, version string
		want                              wire
	}{
		{"POST", "/", "application/json", "", wireConnectUnary},
		{"POST", "/", "application/json; charset=utf-8", "", wireConnectUnary},
		{"POST", "/", "Application/Proto", "", wireConnectUnary},
		{"POST", "/", "application/thrift", "", wireMaybeUnary},
		{"POST", "/", "application/thrift", "1", wireConnectUnary},
		{"POST", "/", "application/x-www-form-urlencoded", "", wireMaybeUnary},
		{"POST", "/", "text/plain", "1", wireNone},
		{"POST", "/", "", "", wireNone},
		{"POST", "/", "application/connect+json", "1", wireConnectStream},
		{"POST", "/", "application/connect+proto", "", wireConnectStream},
		{"POST", "/", "application/grpc", "", wireGRPC},
		{"POST", "/", "application/grpc+json", "", wireGRPC},
		{"POST", "/", "application/grpc-web", "", wireGRPCWeb},
		{"POST", "/", "application/grpc-web+proto", "", wireGRPCWeb},
		{"POST", "/", "application/grpc-web-text", "1", wireNone},
		{"POST", "/", "application/grpcx", "", wireMaybeUnary},
		{"GET", "/?encoding=json&message=%7B%7D", "", "", wireConnectUnary},
		{"GET", "/?message=&base64=1&encoding=proto&connect=v1", "", "", wireConnectUnary},
		{"GET", "/?%65ncoding=json&%6dessage=%7B%7D", "", "", wireConnectUnary},
		{"GET", "/?message=hello", "", "", wireNone},
		{"GET", "/?message=hello%20encoding=", "", "", wireNone},
		{"GET", "/?xencoding=json&message=a", "", "", wireNone},
		{"GET", "/", "application/json", "", wireNone},
		{"PUT", "/", "application/json", "1", wireNone},
		{"OPTIONS", "/", "application/json", "1", wireNone},
		{"HEAD", "/?encoding=json&message=%7B%7D", "", "", wireNone},
	} {
		r := httptest.NewRequest(test.method, test.url, nil)
		r.Header.Set("Content-Type", test.contentType)
		if test.version != "" {
			r.Header.Set("Connect-Protocol-Version", test.version)
		}
		if got := wireOf(r); got != test.want {
			t.Errorf("%s %s of %q, version %q: got %d, want %d", test.method, test.url, test.contentType, test.version, got, test.want)
		}
	}
}

func TestRouteIsTheLastTwoPartsOfAPath(t *testing.T) {
	for path, want := range map[string]string{
		"/a.B/C": "/a.B/C", "/api/v1/a.B/C": "/a.B/C", "/B/C": "/B/C",
		"/": "", "": "", "/a": "", "/a/": "", "//a": "", "a/b": "", "/a//b": "", "/a/b/": "",
	} {
		if got, ok := procedure(path); got != want || ok != (want != "") {
			t.Errorf("%q: got %q, %v, want %q", path, got, ok, want)
		}
	}
}

func TestTimeoutOfTheClientIsRead(t *testing.T) {
	for _, test := range []struct {
		as         wire
		key, value string
		want       time.Duration // -1: none
	}{
		{wireGRPC, "Grpc-Timeout", "100m", 100 * time.Millisecond},
		{wireGRPCWeb, "Grpc-Timeout", "2S", 2 * time.Second},
		{wireGRPC, "Grpc-Timeout", "7u", 7 * time.Microsecond},
		{wireGRPC, "Grpc-Timeout", "0n", 0},
		{wireGRPC, "Grpc-Timeout", "3M", 3 * time.Minute},
		{wireGRPC, "Grpc-Timeout", "1H", time.Hour},
		{wireGRPC, "Grpc-Timeout", "99999999H", -1},
		{wireGRPC, "Grpc-Timeout", "999999999n", -1},
		{wireGRPC, "Grpc-Timeout", "-1S", -1},
		{wireGRPC, "Grpc-Timeout", "S", -1},
		{wireGRPC, "Grpc-Timeout", "1s", -1},
		{wireGRPC, "Grpc-Timeout", "", -1},
		{wireGRPC, "Connect-Timeout-Ms", "100", -1},
		{wireConnectUnary, "Connect-Timeout-Ms", "100", 100 * time.Millisecond},
		{wireConnectStream, "Connect-Timeout-Ms", "9999999999", 9999999999 * time.Millisecond},
		{wireConnectUnary, "Connect-Timeout-Ms", "10000000000", -1},
		{wireConnectUnary, "Connect-Timeout-Ms", "-1", -1},
		{wireConnectUnary, "Connect-Timeout-Ms", "soon", -1},
	} {
		got, ok := timeout(test.as, http.Header{test.key: {test.value}})
		if !ok {
			got = -1
		}
		if got != test.want {
			t.Errorf("%s: %s: got %s, want %s", test.key, test.value, got, test.want)
		}
	}
}

func TestOnlyRegisteredRoutesAreKnown(t *testing.T) {
	var known knownRoutes
	for range 2 {
		for route, want := range map[string]bool{
			"/google.rpc.None/Of": false, "/": false, "/a": false, "/a b/c": false, "/google.protobuf.Any/type_url": false,
		} {
			if got := known.has(route); got != want {
				t.Errorf("%s: got %v", route, got)
			}
		}
	}
	if got := known.routes.Load(); got != nil {
		t.Errorf("%d routes that clients made up are remembered", len(*got))
	}
}

func FuzzGRPCTimeout(f *testing.F) {
	for _, seed := range []string{"1S", "99999999H", "0n", "", "1", "-1m", "٣S"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		if d, ok := grpcTimeout(value); d < 0 || !ok && d != 0 {
			t.Errorf("%q: %s, %v", value, d, ok)
		}
	})
}
