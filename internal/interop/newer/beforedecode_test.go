package newer

import (
	"context"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/rpcgate/rpcgate/gate"
	testv1 "github.com/rpcgate/rpcgate/gen/rpcgate/test/v1"
	"github.com/rpcgate/rpcgate/interceptor"
	"github.com/rpcgate/rpcgate/interceptor/grpcgate"
	"github.com/rpcgate/rpcgate/internal/conformance"
	"github.com/rpcgate/rpcgate/internal/conformance/grpchost"
	"github.com/rpcgate/rpcgate/internal/memhttp"
)

// stalling is a connection that loses what is written after its first bytes.
type stalling struct {
	net.Conn
	left int
}

func (c *stalling) Write(p []byte) (int, error) {
	n := min(c.left, len(p))
	c.left -= n
	if _, err := c.Conn.Write(p[:n]); err != nil {
		return 0, err
	}
	return len(p), nil
}

// slowSender makes a client whose requests never arrive whole.
func slowSender(t *testing.T, dial func(context.Context) (net.Conn, error)) testv1.EchoServiceClient {
	conn, err := grpc.NewClient("passthrough:///memory", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			conn, err := dial(ctx)
			return &stalling{conn, 10 << 10}, err
		}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return testv1.NewEchoServiceClient(conn)
}

// TestBeforeDecodeCutsOffASlowSender needs a grpc-go that receives a unary request after it has called the handler.
func TestBeforeDecodeCutsOffASlowSender(t *testing.T) {
	for _, test := range []struct {
		opts []grpcgate.Option
		want time.Duration // 0: never
	}{
		{nil, 69 * time.Second},
		{[]grpcgate.Option{interceptor.WithMinRate(1<<20, time.Second), interceptor.WithUnknownSize(2 << 20)}, 3 * time.Second},
		{[]grpcgate.Option{interceptor.WithoutMinRate()}, 0},
	} {
		for _, start := range []func(*testing.T, *grpc.Server) func(context.Context) (net.Conn, error){overGRPC, overHTTP} {
			synctest.Test(t, func(t *testing.T) { cutOff(t, test.want, start, test.opts...) })
		}
	}
}

func cutOff(
	t *testing.T, want time.Duration, start func(*testing.T, *grpc.Server) func(context.Context) (net.Conn, error), opts ...grpcgate.Option,
) {
	g := gate.Must(gate.New("db", 1))
	server := grpc.NewServer()
	testv1.RegisterEchoServiceServer(grpcgate.BeforeDecode(server, g, opts...), grpchost.Service{Handler: conformance.Echo})
	client := slowSender(t, start(t, server))
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	began := time.Now()
	_, err := client.Unary(ctx, &testv1.UnaryRequest{Text: strings.Repeat("x", 20<<10)})
	took := time.Since(began)
	synctest.Wait()
	if n := g.InFlight(); n != 0 {
		t.Errorf("%d in flight, want none", n)
	}
	if want == 0 {
		if status.Code(err) != codes.DeadlineExceeded || took < time.Hour {
			t.Errorf("without a bound: %v after %s, want the client's own deadline", err, took)
		}
		return
	}
	if s := status.Convert(err); s.Code() != codes.DeadlineExceeded || s.Message() != "request too slow" || took != want {
		t.Errorf("%v after %s, want DeadlineExceeded after %s", err, took, want)
	}
	totals := g.Snapshot().Totals
	if totals.CutOff[gate.ReasonSlowRequest] != 1 || totals.Accepted != 1 || len(totals.ByReason) != 0 {
		t.Errorf("totals %+v, want one call that was cut off", totals)
	}
}

func overGRPC(t *testing.T, server *grpc.Server) func(context.Context) (net.Conn, error) {
	listener := bufconn.Listen(1 << 16)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		<-served
	})
	return listener.DialContext
}

func overHTTP(t *testing.T, server *grpc.Server) func(context.Context) (net.Conn, error) {
	return memhttp.Start(t, server).Dial
}
