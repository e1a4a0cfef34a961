package connectgate_test

import (
	"fmt"
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

// TestCallerThatLeavesWhileItsStreamWaitsFreesItsTurn has interceptors, which need a server that was configured.
func TestCallerThatLeavesWhileItsStreamWaitsFreesItsTurn(t *testing.T) {
	for _, version := range []string{"v1", "v2", "middleware/v1"} {
		for _, whole := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				g := newGate(t, gate.WithMaxWait(time.Minute))
				release := fill(t, g)
				s := configured(t, servers(g, nil)[version])
				conn, err := s.Dial(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				body := envelope(0, "{}")
				length := len(body)
				if !whole {
					length++
				}
				_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: a\r\nContent-Type: application/connect+json\r\n"+
					"Content-Length: %d\r\n\r\n%s", serverStreamRoute, length, body)
				if err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if g.Waiting() != 1 {
					t.Fatalf("%s: %d wait, want 1", version, g.Waiting())
				}
				_ = conn.Close()
				synctest.Wait()
				if totals := g.Snapshot().Totals; g.Waiting() != 0 || totals.Abandoned != 1 {
					t.Errorf("%s: %d wait, and the totals are %+v, want one abandoned call", version, g.Waiting(), totals)
				}
				release()
				time.Sleep(time.Second)
			})
		}
	}
}

// TestRefusedAfterTheWaitOverHTTP2 has bodies that were read ahead, whole or not. What comes next on the connection is
// answered.
func TestRefusedAfterTheWaitOverHTTP2(t *testing.T) {
	for _, version := range []string{"v1", "v2", "middleware/v1", "middleware/v2"} {
		synctest.Test(t, func(t *testing.T) {
			g := newGate(t, gate.WithMaxWait(time.Second))
			release := fill(t, g)
			s := configured(t, servers(g, nil)[version])
			client := s.ClientHTTP2()
			for _, unsent := range []int64{0, 5} {
				body := envelope(0, "{}")
				r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+serverStreamRoute, nil)
				if err != nil {
					t.Fatal(err)
				}
				read, write := io.Pipe()
				r.Body, r.ContentLength = read, int64(len(body))+unsent
				r.Header.Set("Content-Type", "application/connect+json")
				go func() {
					_, _ = io.WriteString(write, body)
					if unsent == 0 {
						_ = write.Close()
					}
				}()
				start := time.Now()
				res, err := client.Do(r)
				if err != nil {
					t.Fatalf("%s: %v", version, err)
				}
				text, err := io.ReadAll(res.Body)
				_ = res.Body.Close()
				_ = write.Close()
				if took := time.Since(start); err != nil || !strings.Contains(string(text), "resource_exhausted") || took > 1100*time.Millisecond {
					t.Errorf("%s, %d bytes unsent: got %q, %v after %s", version, unsent, text, err, took)
				}
			}
			release()
			res, err := client.Post(s.URL+unaryRoute, "application/json", strings.NewReader("{}"))
			if err != nil || res.StatusCode != http.StatusOK || s.Connections() != 1 {
				t.Errorf("%s: then got %v, %v over %d connections", version, res, err, s.Connections())
			}
		})
	}
}
