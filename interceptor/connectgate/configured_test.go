package connectgate_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/interceptor/httpgate"
	"github.com/rpcgate/rpcgate/internal/memhttp"
)

// configured serves h as a server should.
func configured(t *testing.T, h http.Handler) *memhttp.Server {
	t.Helper()
	srv := &http.Server{Handler: h}
	httpgate.ConfigureServer(srv)
	return memhttp.StartServer(t, srv)
}

// TestARefusalOverHTTP1DoesNotWaitForTheBody has clients that wait for the answer before they send more of a body. The
// interceptors, which have no ResponseWriter, need a server that was configured.
func TestARefusalOverHTTP1DoesNotWaitForTheBody(t *testing.T) {
	for _, name := range []string{"v1", "v2", "middleware/v1", "middleware/v2"} {
		for kind, rest := range map[string]string{
			"announced": "Content-Length: 200000\r\n\r\nx",
			"chunked":   "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n",
			"continue":  "Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n",
		} {
			t.Run(name+" "+kind, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					g := newGate(t)
					defer fill(t, g)()
					s := configured(t, servers(g, nil)[name])
					conn, err := s.Dial(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					began := time.Now()
					go fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: a\r\nContent-Type: application/connect+proto\r\n%s", serverStreamRoute, rest)
					res, err := http.ReadResponse(bufio.NewReader(conn), nil)
					if err != nil {
						t.Fatal(err)
					}
					body, err := io.ReadAll(res.Body)
					if took := time.Since(began); took > 10*time.Millisecond || err != nil || !res.Close || len(body) == 0 {
						t.Errorf("answered after %s with status %d, %q and error %v; closes the connection: %t",
							took, res.StatusCode, body, err, res.Close)
					}
				})
			})
		}
	}
}

// TestARefusalOverHTTP1KeepsTheConnectionOfASmallBody has a body that has arrived, whether announced or not.
func TestARefusalOverHTTP1KeepsTheConnectionOfASmallBody(t *testing.T) {
	for _, name := range []string{"v1", "v2", "middleware/v1", "middleware/v2"} {
		for _, announced := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				g := newGate(t)
				defer fill(t, g)()
				s := configured(t, servers(g, nil)[name])
				client := s.Client()
				for range 3 {
					var body io.Reader = &countedBody{n: 50_000}
					r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+serverStreamRoute, body)
					if err != nil {
						t.Fatal(err)
					}
					r.Header.Set("Content-Type", "application/connect+proto")
					if announced {
						r.ContentLength = 50_000
					}
					res, err := client.Do(r)
					if err != nil {
						t.Fatal(err)
					}
					_, _ = io.Copy(io.Discard, res.Body)
					_ = res.Body.Close()
				}
				if n := s.Connections(); n != 1 || g.Snapshot().Totals.RejectedBusy != 3 {
					t.Errorf("%s, announced %t: %d connections for %d refused requests, want 1 for 3", name, announced, n, g.Snapshot().Totals.RejectedBusy)
				}
			})
		}
	}
}

// TestARefusalOverHTTP1IsReadToTheEndOfItsBody has a large body that is under way: if the connection were closed at once,
// the client might lose the answer.
func TestARefusalOverHTTP1IsReadToTheEndOfItsBody(t *testing.T) {
	for _, name := range []string{"v1", "v2", "middleware/v1", "middleware/v2"} {
		synctest.Test(t, func(t *testing.T) {
			g := newGate(t)
			defer fill(t, g)()
			s := configured(t, servers(g, nil)[name])
			conn, err := s.Dial(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			const size = 3_500_000
			sent := make(chan error)
			go func() {
				_, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: a\r\nContent-Type: application/connect+proto\r\nContent-Length: %d\r\n\r\n%s",
					serverStreamRoute, size, make([]byte, size))
				sent <- err
			}()
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(res.Body)
			if err != nil || len(body) == 0 || !res.Close {
				t.Errorf("%s: got %q and error %v, closes the connection: %t", name, body, err, res.Close)
			}
			if err := <-sent; err != nil {
				t.Errorf("%s: the body could not be sent: %v", name, err)
			}
		})
	}
}

// TestARefusalOverHTTP2IsDrained has bodies that are under way when the interceptor refuses: net/http must not reset the
// stream.
func TestARefusalOverHTTP2IsDrained(t *testing.T) {
	for _, name := range []string{"v1", "v2", "middleware/v1", "middleware/v2"} {
		for _, size := range []int{1000, 50_000, 3_500_000} {
			synctest.Test(t, func(t *testing.T) {
				g := newGate(t)
				defer fill(t, g)()
				s := configured(t, servers(g, nil)[name])
				sent := &countedBody{n: size}
				r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+serverStreamRoute, sent)
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Content-Type", "application/connect+proto")
				res, err := s.ClientHTTP2().Do(r)
				if err != nil {
					t.Fatal(err)
				}
				_, err = io.Copy(io.Discard, res.Body)
				_ = res.Body.Close()
				if synctest.Wait(); err != nil || sent.read != size {
					t.Errorf("%s: %d of %d bytes were sent, error %v", name, sent.read, size, err)
				}
			})
		}
	}
}
