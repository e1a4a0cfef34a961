//go:build interop

package interop

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/rpcgate/rpcgate/gate"
	testv1 "github.com/rpcgate/rpcgate/gen/rpcgate/test/v1"
	"github.com/rpcgate/rpcgate/gen/rpcgate/test/v1/testv1connect"
	"github.com/rpcgate/rpcgate/interceptor/connectgate"
	"github.com/rpcgate/rpcgate/interceptor/httpgate"
	"github.com/rpcgate/rpcgate/internal/conformance"
	"github.com/rpcgate/rpcgate/internal/conformance/grpchost"
	"github.com/rpcgate/rpcgate/internal/memhttp"
)

// serveAll is a host of Connect and of a plain handler, on "GET /plain".
func serveAll(t *testing.T, a gate.Admitter) string {
	mux := http.NewServeMux()
	mux.Handle("/", connectV1(a))
	mux.Handle("GET /plain", httpgate.NewMiddleware(a)(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("plain"))
	})))
	return serveHTTP(t, connectgate.TrailersOnly(mux))
}

// proxy is a running nginx.
type proxy struct {
	http1 string // URL, for HTTP/1.1
	http2 string // address, for HTTP/2 with prior knowledge
}

// startNginx runs nginx with demo/nginx/nginx.conf, in front of servers at the given addresses. The replacements, old and
// new by turns, are made in the configuration.
func startNginx(t *testing.T, upstreams []string, replacements ...string) proxy {
	t.Helper()
	binary, err := exec.LookPath("nginx")
	if err != nil {
		binary = "/usr/sbin/nginx" // where Debian has it, which is not in everybody's PATH
	}
	if _, err := os.Stat(binary); err != nil {
		t.Fatal("nginx is not installed: these tests need nginx 1.22 or later (on Debian: apt-get install nginx-light)")
	}
	conf, err := os.ReadFile("../../demo/nginx/nginx.conf")
	if err != nil {
		t.Fatal(err)
	}
	one, two := freeAddr(t), freeAddr(t)
	servers := "server " + strings.Join(upstreams, ";\nserver ") + ";"
	text := string(conf)
	replacements = append([]string{"server 127.0.0.1:8080;", servers, "127.0.0.1:8000", one, "127.0.0.1:8001", two}, replacements...)
	for i := 0; i < len(replacements); i += 2 {
		if !strings.Contains(text, replacements[i]) {
			t.Fatalf("nginx.conf has no %q", replacements[i])
		}
		text = strings.ReplaceAll(text, replacements[i], replacements[i+1])
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(dir, "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	// The user is for when it is started by root: its own has no way into the folder.
	cmd := exec.Command(binary, "-p", dir, "-c", file)
	if os.Getuid() == 0 {
		cmd.Args = append(cmd.Args, "-g", "user root;")
	}
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt) // ends its workers, too
		_ = cmd.Wait()
		if text, _ := os.ReadFile(log.Name()); t.Failed() {
			t.Logf("nginx says:\n%s", text)
		}
	})
	awaitListener(t, one)
	awaitListener(t, two)
	return proxy{http1: "http://" + one, http2: two}
}

// freeAddr finds a port that was free a moment ago.
func freeAddr(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func awaitListener(t *testing.T, addr string) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		if err == nil {
			_ = conn.Close()
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("nginx does not listen on %s: %v", addr, err)
		}
	}
}

// dial makes a connection of grpc-go with a retry policy of the given backoff.
func dial(t *testing.T, addr, backoff string, creds credentials.TransportCredentials) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(creds),
		grpc.WithDefaultServiceConfig(`{"methodConfig": [{"name": [{}], "retryPolicy": {"maxAttempts": 5, "initialBackoff": "`+backoff+
			`", "maxBackoff": "`+backoff+`", "backoffMultiplier": 1, "retryableStatusCodes": ["RESOURCE_EXHAUSTED"]}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// post makes a Connect call, get a plain one; body and response are what the client sees.
func post(t *testing.T, p proxy) (*http.Response, string) {
	return do(t, http.MethodPost, p.http1+testv1connect.EchoServiceUnaryProcedure, `{"text":"hello"}`)
}

func get(t *testing.T, p proxy) (*http.Response, string) {
	return do(t, http.MethodGet, p.http1+"/plain", "")
}

func do(t *testing.T, method, url, body string) (*http.Response, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("X-Request-Id", "from-client")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(b)
}

// refusal is a kind of refusal as the clients of each protocol see it.
type refusal struct {
	kind   gate.Refusal
	status int
	code   codes.Code
	name   string // of the code, in Connect
}

func refusals() []refusal {
	return []refusal{
		{gate.TooManyRequests, http.StatusTooManyRequests, codes.ResourceExhausted, "resource_exhausted"},
		{gate.ServiceUnavailable, http.StatusServiceUnavailable, codes.Unavailable, "unavailable"},
	}
}

func TestNginxPassesHTTPRefusals(t *testing.T) {
	for _, r := range refusals() {
		t.Run(r.name, func(t *testing.T) {
			g := newGate(t, 2*time.Second, -1, gate.WithRefusal(r.kind))
			other := newGate(t, 2*time.Second, -1, gate.WithRefusal(r.kind))
			p := startNginx(t, []string{serveAll(t, g), serveAll(t, other)})
			res, body := post(t, p)
			if res.StatusCode != r.status || res.Header.Get("Retry-After") != "2" {
				t.Errorf("Connect: status %d, header %v", res.StatusCode, res.Header)
			}
			var told struct {
				Code, Message string
				Details       []struct{ Type string }
			}
			if err := json.Unmarshal([]byte(body), &told); err != nil {
				t.Error(err)
			}
			if told.Code != r.name || told.Message != "server busy" || len(told.Details) != 3 {
				t.Errorf("Connect: %s", body)
			}
			res, body = get(t, p)
			if res.StatusCode != r.status || res.Header.Get("Retry-After") != "2" {
				t.Errorf("plain: status %d, header %v", res.StatusCode, res.Header)
			}
			if want := `{"error":"server_busy","requestId":"from-client"}`; strings.TrimSpace(body) != want {
				t.Errorf("plain: %s, want %s", body, want)
			}
			if n := attempts(g, other); n != 2 {
				t.Errorf("%d attempts at the servers, want one for each of the two calls", n)
			}
		})
	}
}

// attempts is how often the gates have refused.
func attempts(gates ...*gate.Gate) (n uint64) {
	for _, g := range gates {
		n += g.Snapshot().Totals.RejectedBusy
	}
	return n
}

func TestNginxPassesGRPCRefusals(t *testing.T) {
	for name, start := range hosts() {
		for _, r := range refusals() {
			t.Run(name+", "+r.name, func(t *testing.T) {
				g := newGate(t, 1500*time.Millisecond, -1, gate.WithRefusal(r.kind))
				other := newGate(t, 1500*time.Millisecond, -1, gate.WithRefusal(r.kind))
				p := startNginx(t, []string{start(t, g), start(t, other)})
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				ctx = metadata.AppendToOutgoingContext(ctx, "x-request-id", "from-client")
				var header, trailer metadata.MD
				conn, err := grpc.NewClient("passthrough:///"+p.http2, grpc.WithTransportCredentials(insecure.NewCredentials()))
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				_, err = testv1.NewEchoServiceClient(conn).Unary(ctx, &testv1.UnaryRequest{}, grpc.Header(&header), grpc.Trailer(&trailer))
				checkGRPC(t, err, r.code, 1500*time.Millisecond)
				if v := trailer.Get("grpc-retry-pushback-ms"); len(v) != 1 || v[0] != "1500" {
					t.Errorf("pushback %q, want 1500; header %v, trailer %v", v, header, trailer)
				}
				if n := attempts(g, other); n != 1 {
					t.Errorf("%d attempts at the servers, want 1", n)
				}
			})
		}
	}
}

// checkGRPC checks the status and the details of a refusal.
func checkGRPC(t *testing.T, err error, code codes.Code, delay time.Duration) {
	t.Helper()
	s := status.Convert(err)
	if s.Code() != code || s.Message() != "server busy" || len(s.Details()) != 3 {
		t.Fatalf("got %v with details %v, want %v, server busy and 3 details", err, s.Details(), code)
	}
	for _, d := range s.Details() {
		switch d := d.(type) {
		case *errdetails.RetryInfo:
			if got := d.GetRetryDelay().AsDuration(); got != delay {
				t.Errorf("RetryInfo says %v, want %v", got, delay)
			}
		case *errdetails.RequestInfo:
			if d.GetRequestId() != "from-client" {
				t.Errorf("RequestInfo is %v", d)
			}
		case *errdetails.ErrorInfo:
			if d.GetDomain() != "rpcgate" || d.GetReason() != "LIMIT" {
				t.Errorf("ErrorInfo is %v", d)
			}
		default:
			t.Errorf("detail %v", d)
		}
	}
}

// As in the test of grpc-js, only the server's delay lets the call succeed within its deadline.
func TestGRPCGoComesBackThroughNginxAfterTheDelayItWasTold(t *testing.T) {
	for name, start := range hosts() {
		t.Run(name, func(t *testing.T) {
			for _, shape := range conformance.Shapes() {
				t.Run(shape.String(), func(t *testing.T) {
					g := newGate(t, 50*time.Millisecond, 2)
					p := startNginx(t, []string{start(t, g)})
					comesBack(t, dial(t, p.http2, "600s", insecure.NewCredentials()), shape)
					checkAttempts(t, g, 2, 1)
				})
			}
		})
	}
}

// One port of nginx serves both versions of HTTP once there is TLS. What it keeps of connections to the server must not
// be mixed up then.
func TestNginxWithTLSServesAllOnOnePort(t *testing.T) {
	for _, name := range []string{"grpc-go", "connect v1"} {
		t.Run(name, func(t *testing.T) {
			certificate, roots := memhttp.NewTLS(t)
			g := newGate(t, 50*time.Millisecond, 2)
			p := startNginx(t, []string{hosts()[name](t, g)}, " http2;", " ssl http2;\n"+sslLines(t, certificate))
			trusting := &tls.Config{RootCAs: roots, ServerName: "in-memory.test"}
			comesBack(t, dial(t, p.http2, "600s", credentials.NewTLS(trusting)), conformance.BidiStream)
			checkAttempts(t, g, 2, 1)
			if name != "connect v1" {
				return // grpc-go's own server has no HTTP/1.1
			}
			lease, err := g.TryAcquire(gate.Call{Route: "filler"})
			if err != nil {
				t.Fatal(err)
			}
			defer lease.Release()
			client := &http.Client{Transport: &http.Transport{TLSClientConfig: trusting}}
			defer client.CloseIdleConnections()
			res, err := client.Post("https://"+p.http2+testv1connect.EchoServiceUnaryProcedure, "application/json",
				strings.NewReader(`{"text":"hello"}`))
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if res.ProtoMajor != 1 || res.StatusCode != http.StatusTooManyRequests || res.Header.Get("Retry-After") != "1" {
				t.Errorf("HTTP/1.1: %s %s, Retry-After %q", res.Proto, res.Status, res.Header.Get("Retry-After"))
			}
		})
	}
}

// sslLines writes the certificate to files and names them in the words of nginx.
func sslLines(t *testing.T, c *tls.Config) string {
	t.Helper()
	dir := t.TempDir()
	key, err := x509.MarshalPKCS8PrivateKey(c.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	lines := ""
	for directive, block := range map[string]*pem.Block{
		"ssl_certificate":     {Type: "CERTIFICATE", Bytes: c.Certificates[0].Certificate[0]},
		"ssl_certificate_key": {Type: "PRIVATE KEY", Bytes: key},
	} {
		file := filepath.Join(dir, directive)
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
		lines += directive + " " + file + ";\n"
	}
	return lines
}

// comesBack makes a call that must succeed in the end, within a minute.
func comesBack(t *testing.T, conn *grpc.ClientConn, shape conformance.Shape) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	call := grpchost.NewClient(conn).Open(ctx, shape, nil)
	if err := call.Send("hello"); err != nil && !errors.Is(err, io.EOF) { // Recv says what it was
		t.Fatal(err)
	}
	if err := call.CloseSend(); err != nil {
		t.Fatal(err)
	}
	got, err := call.Recv()
	if err != nil || got != "hello" {
		t.Fatalf("got %q and error %v, want the text back", got, err)
	}
	if _, err := call.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("after the answer: %v, want its end", err)
	}
}

// A call that is refused before its request was read ends while the request is on its way. What the server answers to
// that must not be taken for the answer to the next call on the connection.
func TestNginxMixesNoRefusalUpWithTheNextCall(t *testing.T) {
	for name, start := range hosts() {
		t.Run(name, func(t *testing.T) {
			g := newGate(t, time.Second, -1)
			p := startNginx(t, []string{start(t, g)})
			conn, err := grpc.NewClient("passthrough:///"+p.http2, grpc.WithTransportCredentials(insecure.NewCredentials()))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			client := grpchost.NewClient(conn)
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					for i := range 60 {
						shape := conformance.Shapes()[i%4]
						if err := refused(t, client, shape); err != nil {
							t.Errorf("%s: %v", shape, err)
						}
					}
				})
			}
			wg.Wait()
		})
	}
}

// refused makes a call and returns what is wrong with its refusal.
func refused(t *testing.T, client conformance.Client, shape conformance.Shape) error {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	call := client.Open(ctx, shape, nil)
	if call.Send("hello") == nil {
		_ = call.CloseSend()
	}
	_, err := call.Recv()
	var f *conformance.Failure
	if errors.As(err, &f) && f.Code == uint32(codes.ResourceExhausted) {
		return nil
	}
	return fmt.Errorf("got %w, want ResourceExhausted", err)
}

// A server that is down is passed over, so that a restart goes unnoticed.
func TestNginxPassesOverAServerThatIsDown(t *testing.T) {
	g := newGate(t, 0, -1)
	p := startNginx(t, []string{freeAddr(t), serveAll(t, g)})
	for range 4 { // both have their turns
		if res, body := post(t, p); res.StatusCode != http.StatusTooManyRequests {
			t.Errorf("status %d: %s", res.StatusCode, body)
		}
	}
	if n := attempts(g); n != 4 {
		t.Errorf("%d attempts, want 4", n)
	}
}

// It is why the configuration says what it says of proxy_next_upstream: these tests do notice a storm.
func TestNginxStormsIfToldTo(t *testing.T) {
	one, two := newGate(t, 0, -1), newGate(t, 0, -1)
	p := startNginx(t, []string{serveAll(t, one), serveAll(t, two)},
		"proxy_next_upstream error;", "proxy_next_upstream error http_429 non_idempotent;")
	if res, _ := post(t, p); res.StatusCode != http.StatusTooManyRequests {
		t.Errorf("status %d", res.StatusCode)
	}
	if n := attempts(one, two); n != 2 {
		t.Errorf("%d attempts for one call, want 2", n)
	}
}
