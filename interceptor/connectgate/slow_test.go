package connectgate_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/connectgate"
	"github.com/rpcgate/rpcgate/internal/memhttp"
)

// sendSlowly posts the beginning of a message and no more.
func sendSlowly(t *testing.T, client *http.Client, url, contentType, begin string) (res *http.Response, body string, took time.Duration) {
	t.Helper()
	request, unsent := io.Pipe()
	defer unsent.Close()
	go func() { _, _ = io.WriteString(unsent, begin) }()
	start := time.Now()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, request)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("Te", "trailers")
	if res, err = client.Do(req); err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(text), time.Since(start)
}

func TestMiddlewareCutsOffSlowSendersOfUnaryCalls(t *testing.T) {
	const envelopeOf100 = "\x00\x00\x00\x00\x64"
	for name, test := range map[string]struct {
		contentType, begin string
		told               func(res *http.Response, body string) bool
	}{
		"Connect": {"application/json", `{"text":"`, func(res *http.Response, body string) bool {
			return res.StatusCode == http.StatusGatewayTimeout && strings.Contains(body, `"deadline_exceeded"`)
		}},
		"gRPC": {"application/grpc+proto", envelopeOf100, func(res *http.Response, _ string) bool {
			return res.Trailer.Get("Grpc-Status") == "4"
		}},
		"gRPC-Web": {"application/grpc-web+proto", envelopeOf100, func(res *http.Response, body string) bool {
			return res.Header.Get("Grpc-Status") == "4" || strings.Contains(strings.ToLower(body), "grpc-status: 4\r\n")
		}},
	} {
		for version, handler := range map[string]http.Handler{"v1": handlerV1(nil), "v2": handlerV2(nil)} {
			for _, major := range []int{1, 2} {
				if name == "gRPC" && major == 1 {
					continue
				}
				synctest.Test(t, func(t *testing.T) {
					g := newGate(t)
					s := memhttp.Start(t, connectgate.NewMiddleware(g)(handler))
					client := s.ClientHTTP2()
					if major == 1 {
						client = s.Client()
					}
					res, body, took := sendSlowly(t, client, s.URL+unaryRoute, test.contentType, test.begin)
					if !test.told(res, body) || took.Round(100*time.Millisecond) != 5*time.Second {
						t.Errorf("%s %s over HTTP/%d: got %s, %v, %q, %v after %s, want deadline exceeded after 5 s",
							name, version, major, res.Status, res.Header, body, res.Trailer, took)
					}
					if n := g.Snapshot().Totals.CutOff[gate.ReasonSlowRequest]; n != 1 {
						t.Errorf("%s %s over HTTP/%d: %d cut off, want 1", name, version, major, n)
					}
					time.Sleep(time.Second) // until the server has hung up
				})
			}
		}
	}
}

func TestMiddlewareLetsStreamsBeIdle(t *testing.T) {
	for _, contentType := range []string{"application/connect+proto", "application/grpc+proto", "application/grpc-web+proto"} {
		for version, handler := range map[string]http.Handler{"v1": handlerV1(nil), "v2": handlerV2(nil)} {
			synctest.Test(t, func(t *testing.T) {
				g := newGate(t)
				s := memhttp.Start(t, connectgate.NewMiddleware(g)(handler))
				request, send := io.Pipe()
				go func() {
					_, _ = io.WriteString(send, envelope(0, ""))
					time.Sleep(time.Hour)
					_, _ = io.WriteString(send, envelope(0, ""))
					_ = send.Close()
				}()
				res, err := s.ClientHTTP2().Post(s.URL+clientStreamRoute, contentType, request)
				if err != nil {
					t.Fatal(err)
				}
				defer res.Body.Close()
				body, err := io.ReadAll(res.Body)
				// The response counts two messages: field 2 is 2.
				if err != nil || !strings.Contains(string(body), "\x10\x02") && !strings.Contains(string(body), "\x18\x02") {
					t.Errorf("%s %s: got %q, %v", contentType, version, body, err)
				}
				if n := g.Snapshot().Totals.CutOff; len(n) != 0 {
					t.Errorf("%s %s: %v were cut off", contentType, version, n)
				}
			})
		}
	}
}
