//go:build interop

package interop

import (
	"encoding/binary"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/connectgate"
	"github.com/rpcgate/rpcgate/internal/conformance"
)

// busyMachine is how many of 60 calls may fail. On a machine that does other things, too, curl sometimes sends its body
// later than a drain waits, which is 10 ms. Then the stream is reset.
const busyMachine = 3

// TestCurlIsToldOfRefusals has curl 7.88 over HTTP/2, which takes a stream that is reset for a failure, although it has
// the answer. The table of clients (internal/interop/clients) has the other hosts. Each call has a connection of its own.
func TestCurlIsToldOfRefusals(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Fatal(err)
	}
	for name, host := range map[string]struct {
		handler     func(gate.Admitter) http.Handler
		shape       conformance.Shape
		contentType string
		body        func(text string) string
		want        string // of what curl prints
	}{
		"connect v1, stream": {
			connectV1, conformance.ClientStream, "application/connect+json", envelope, "resource_exhausted",
		},
		"connect v2, stream": {
			connectV2, conformance.ClientStream, "application/connect+json", envelope, "resource_exhausted",
		},
		"connect v2, middleware": {
			func(a gate.Admitter) http.Handler { return connectgate.NewMiddleware(a)(connectV2(a)) },
			conformance.Unary, "application/json", message, "status 429",
		},
		"grpc-go": {
			func(a gate.Admitter) http.Handler { return grpcServer(a) },
			conformance.ClientStream, "application/grpc", conformance.GRPCBody, "grpc-status 8",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGate(t, time.Second, -1)
			url := "http://" + serveConfigured(t, connectgate.TrailersOnly(host.handler(g))) + host.shape.Route()
			for _, kb := range []int{1, 15, 50} {
				file := filepath.Join(t.TempDir(), "body")
				if err := os.WriteFile(file, []byte(host.body(strings.Repeat("x", kb<<10))), 0o600); err != nil {
					t.Fatal(err)
				}
				failed := 0
				for range 60 {
					out, err := exec.CommandContext(t.Context(), curl, "-sS", "--http2-prior-knowledge", "--max-time", "20",
						"-H", "Content-Type: "+host.contentType, "-H", "Te: trailers", "--data-binary", "@"+file,
						"-w", "\nstatus %{http_code}\ngrpc-status %header{grpc-status}\n", url).CombinedOutput()
					if err != nil || !strings.Contains(string(out), host.want) {
						if failed++; failed == 1 {
							t.Logf("the first failure: %v\n%.500s", err, out)
						}
					}
				}
				if failed > busyMachine {
					t.Errorf("%d KB: %d of 60 refused calls failed", kb, failed)
				}
			}
			checkAttempts(t, g, 180, 0)
		})
	}
}

// message is a unary request of Connect.
func message(text string) string { return fmt.Sprintf("{\"text\": %q}", text) }

// envelope is a stream of Connect with one message.
func envelope(text string) string {
	m := message(text)
	return string(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(m)))) + m
}
