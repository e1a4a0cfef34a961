package connectgate_test

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
	testv1 "github.com/rpcgate/rpcgate/gen/rpcgate/test/v1"
)

// TestAClientThatReadsNothingLosesItsLease has a stream of responses that nobody reads. The interceptors, which have no
// ResponseWriter, need a server that was configured.
func TestAClientThatReadsNothingLosesItsLease(t *testing.T) {
	message := marshal(t, &testv1.ServerStreamRequest{Text: "text", Count: 1000, Payload: make([]byte, 1000)})
	body := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)
	for _, name := range []string{"v1", "v2", "middleware/v1", "middleware/v2"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGate(t)
				s := configured(t, servers(g, nil)[name])
				conn, err := s.Dial(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: a\r\nContent-Type: application/connect+proto\r\nContent-Length: %d\r\n\r\n%s",
					serverStreamRoute, len(body), body)
				time.Sleep(4 * time.Second)
				if g.InFlight() != 1 {
					t.Errorf("%d in flight in the time of grace, want 1", g.InFlight())
				}
				time.Sleep(4 * time.Second)
				synctest.Wait()
				if totals := g.Snapshot().Totals; g.InFlight() != 0 || totals.CutOff[gate.ReasonSlowResponse] != 1 {
					t.Errorf("%d in flight afterwards, totals %+v", g.InFlight(), totals)
				}
			})
		})
	}
}

// TestAClientThatSendsNothingLosesItsLease has unary calls of Connect v2, whose interceptor comes before the request is
// read.
func TestAClientThatSendsNothingLosesItsLease(t *testing.T) {
	for _, name := range []string{"v2", "middleware/v2"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGate(t)
				s := configured(t, servers(g, nil)[name])
				conn, err := s.Dial(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				go fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", unaryRoute)
				res, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil {
					t.Fatal(err)
				}
				body, _ := io.ReadAll(res.Body)
				synctest.Wait()
				if took := time.Since(began).Round(100 * time.Millisecond); took != 5*time.Second || !strings.Contains(string(body), "deadline_exceeded") {
					t.Errorf("answered after %s with %s and %s", took, res.Status, body)
				}
				if totals := g.Snapshot().Totals; g.InFlight() != 0 || totals.CutOff[gate.ReasonSlowRequest] != 1 {
					t.Errorf("%d in flight afterwards, totals %+v", g.InFlight(), totals)
				}
			})
		})
	}
}
