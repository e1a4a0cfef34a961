package connectgate_test

import (
	"net"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/connectgate"
	"github.com/rpcgate/rpcgate/interceptor/httpgate"
)

// TestCurlSees429And503WithRetryAfter runs the real curl over loopback, by both
// versions of HTTP.
func TestCurlSees429And503WithRetryAfter(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("curl is not installed")
	}
	for status, kind := range map[string]gate.Refusal{"429": gate.TooManyRequests, "503": gate.ServiceUnavailable} {
		g, err := gate.New("db", 1, gate.WithMaxWait(0), gate.WithRefusal(kind))
		if err != nil {
			t.Fatal(err)
		}
		release := fill(t, g)
		for name, h := range servers(g, nil) {
			if status == "503" && name != "middleware/v1" {
				continue // one is enough: processes are expensive
			}
			url := serveLoopback(t, connectgate.TrailersOnly(h)) + unaryRoute
			for version, flag := range map[string]string{"HTTP/1.1": "--http1.1", "HTTP/2": "--http2-prior-knowledge"} {
				out, err := exec.CommandContext(t.Context(), curl, "-sS", "-i", flag, "--json", "{}", url).CombinedOutput()
				if err != nil {
					t.Errorf("%s, %s: %v\n%s", name, version, err, out)
					continue
				}
				head, body, _ := strings.Cut(string(out), "\r\n\r\n")
				head = strings.ToLower(head)
				if !strings.HasPrefix(head, strings.ToLower(version)+" "+status) || !strings.Contains(head, "\r\nretry-after: ") {
					t.Errorf("%s, %s: curl sees\n%s", name, version, out)
				}
				if !strings.Contains(body, `"message":"server busy"`) {
					t.Errorf("%s, %s: curl sees the body %s", name, version, body)
				}
			}
		}
		release()
	}
}

// serveLoopback serves h on a port of its own until the test ends and returns
// the URL.
func serveLoopback(t *testing.T, h http.Handler) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	srv := &http.Server{Handler: h, Protocols: &protocols}
	httpgate.ConfigureServer(srv)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(listener)
	}()
	t.Cleanup(func() {
		_ = srv.Close()
		<-done
	})
	return "http://" + listener.Addr().String()
}
