package connectgate_test

import (
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/connectgate"
	"github.com/rpcgate/rpcgate/interceptor/grpcgate"
	"github.com/rpcgate/rpcgate/internal/memhttp"
)

// emptyMessage is an empty message of a stream.
const emptyMessage = "\x00\x00\x00\x00\x00"

// TestDrainingClosesConnectionsOfHTTP1 has clients of all that can be called by HTTP/1.1.
func TestDrainingClosesConnectionsOfHTTP1(t *testing.T) {
	for _, name := range []string{"v1", "v2", "middleware/v1", "middleware/v2"} {
		for _, call := range []struct{ route, contentType, body string }{
			{unaryRoute, "application/json", "{}"},
			{unaryRoute, "application/grpc-web", emptyMessage},
			{serverStreamRoute, "application/connect+proto", emptyMessage},
			{serverStreamRoute, "application/grpc-web+proto", emptyMessage},
		} {
			t.Run(name+call.route+" "+call.contentType, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					g := newGate(t)
					s := memhttp.Start(t, servers(g, nil)[name])
					closes := func() bool {
						t.Helper()
						res, err := s.Client().Post(s.URL+call.route, call.contentType, strings.NewReader(call.body))
						if err != nil {
							t.Fatal(err)
						}
						defer res.Body.Close()
						if got := res.Header.Get("Retry-After"); call.contentType == "application/json" && res.StatusCode == 503 && got != "0" {
							t.Errorf("Retry-After %q, want 0", got)
						}
						return res.Close
					}
					release := fill(t, g)
					if closes() {
						t.Error("the refusal of a full gate closes the connection")
					}
					release()
					if closes() {
						t.Error("an answer closes the connection")
					}
					drain(t, g)
					if !closes() {
						t.Error("the refusal of a draining gate leaves the connection open")
					}
				})
			})
		}
	}
}

func drain(t *testing.T, g *gate.Gate) {
	t.Helper()
	if err := g.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestTranscodedSendsClientsElsewhere has a transcoder in front of a grpc-go server.
func TestTranscodedSendsClientsElsewhere(t *testing.T) {
	for _, test := range []struct {
		opts  []gate.Option
		drain bool
		want  string
	}{
		{nil, true, "0"},
		{[]gate.Option{gate.WithDrainDelay(2900*time.Millisecond, 2900*time.Millisecond)}, true, "2"},
		{[]gate.Option{gate.WithRefusal(gate.ServiceUnavailable), gate.WithRetryDelay(2*time.Second, 2*time.Second)}, false, "2"},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := newGate(t, test.opts...)
			if test.drain {
				drain(t, g)
			} else {
				defer fill(t, g)()
			}
			srv := grpc.NewServer(grpcgate.ServerOptions(g)...)
			srv.RegisterService(&grpc.ServiceDesc{
				ServiceName: strings.Split(unaryRoute, "/")[1],
				Streams: []grpc.StreamDesc{{StreamName: "Unary", ServerStreams: true, // or grpc-go 1.85 takes it for a unary call
					Handler: func(any, grpc.ServerStream) error { return nil }}},
			}, nil)
			header := transcodedHeader(connectgate.Transcoded(srv))
			if got := header.Get("Retry-After"); got != test.want {
				t.Errorf("draining %t: Retry-After %q, want %q", test.drain, got, test.want)
			}
			if got := header.Get("Connection") == "close"; got != test.drain {
				t.Errorf("draining %t: Connection: close %t", test.drain, got)
			}
			srv.Stop()
		})
	}
}

// TestCurlGoesElsewhere runs the real curl, with two requests in a row: over HTTP/1.1 each must get a connection of its
// own while the gate drains. Over HTTP/2 the connection stays, since it has other calls, too.
func TestCurlGoesElsewhere(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("curl is not installed")
	}
	g := gate.Must(gate.New("db", 1))
	srv := httptest.NewUnstartedServer(connectgate.NewMiddleware(g)(handlerV1(nil)))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	defer srv.Close()
	for version, flag := range map[string]string{"1.1": "--http1.1", "2": "--http2"} {
		for _, test := range []struct {
			status   string
			connects map[string]string // of the second request, by version
			before   func()
		}{
			{"200", map[string]string{"1.1": "0", "2": "0"}, func() { _ = g.Reopen() }},
			{"503", map[string]string{"1.1": "1", "2": "0"}, func() { drain(t, g) }},
		} {
			test.before()
			out, err := exec.CommandContext(t.Context(), curl, "-ksS", flag, "--json", "{}",
				"-w", "%{http_version} %{http_code} %{num_connects}\n",
				"-o", "/dev/null", srv.URL+unaryRoute, "-o", "/dev/null", srv.URL+unaryRoute).CombinedOutput()
			want := version + " " + test.status + " 1\n" + version + " " + test.status + " " + test.connects[version] + "\n"
			if err != nil || string(out) != want {
				t.Errorf("%s: error %v, curl says\n%swant version, status and new connections\n%s", flag, err, out, want)
			}
		}
	}
}
