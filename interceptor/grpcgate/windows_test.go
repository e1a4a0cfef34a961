package grpcgate_test

import (
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/benchmark/latency"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/rpcgate/rpcgate/gate"
	testv1 "github.com/rpcgate/rpcgate/gen/rpcgate/test/v1"
	"github.com/rpcgate/rpcgate/interceptor/grpcgate"
	"github.com/rpcgate/rpcgate/internal/conformance"
	"github.com/rpcgate/rpcgate/internal/conformance/grpchost"
)

const large = 8 << 20

// farServer is a server that is 25 ms away.
type farServer struct {
	client testv1.EchoServiceClient
	sent   atomic.Int64 // bytes that clients have sent
}

func serveFar(t *testing.T, admitter gate.Admitter, opts ...grpc.ServerOption) *farServer {
	t.Helper()
	s := grpc.NewServer(slices.Concat(opts, grpcgate.ServerOptions(admitter), []grpc.ServerOption{grpc.MaxRecvMsgSize(2 * large)})...)
	testv1.RegisterEchoServiceServer(s, grpchost.Service{Handler: receive})
	network := latency.Network{Latency: 25 * time.Millisecond}
	pipe := bufconn.Listen(1 << 26)
	served := make(chan error, 1)
	go func() { served <- s.Serve(network.Listener(pipe)) }()
	far := &farServer{}
	conn, err := grpc.NewClient("passthrough:///far", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			near, err := pipe.DialContext(ctx)
			if err != nil {
				return nil, err
			}
			conn, err := network.Conn(near)
			return counted{conn, &far.sent}, err
		}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		s.Stop()
		<-served
	})
	far.client = testv1.NewEchoServiceClient(conn)
	if _, err := far.client.Unary(t.Context(), &testv1.UnaryRequest{}); err != nil { // so that it is connected
		t.Fatal(err)
	}
	return far
}

// counted counts the bytes that are written.
type counted struct {
	net.Conn
	sent *atomic.Int64
}

func (c counted) Write(p []byte) (int, error) {
	c.sent.Add(int64(len(p)))
	return c.Conn.Write(p)
}

// upload sends so many bytes in messages of the given size and returns how long it took.
func (f *farServer) upload(ctx context.Context, bytes, size int) (time.Duration, error) {
	start := time.Now()
	stream, err := f.client.ClientStream(ctx)
	if err != nil {
		return 0, err
	}
	message := &testv1.ClientStreamRequest{Text: strings.Repeat("x", size)}
	for range bytes / size {
		if err := stream.Send(message); err != nil {
			break // which the next line tells
		}
	}
	_, err = stream.CloseAndRecv()
	return time.Since(start), err
}

// receive answers when the client has sent all there is.
func receive(_ context.Context, _ conformance.Shape, stream conformance.Stream) error {
	for {
		if _, err := stream.Recv(); err != nil {
			return stream.Send("done")
		}
	}
}

func TestBoundedWindowsCostLittleForOneMessageAndMuchForMany(t *testing.T) {
	for _, test := range []struct {
		size     int
		opts     []grpc.ServerOption
		min, max time.Duration
	}{
		{large, nil, 0, 800 * time.Millisecond},
		{large, grpcgate.BoundedWindows(), 0, 500 * time.Millisecond},
		{8 << 10, nil, 0, time.Second},
		{8 << 10, grpcgate.BoundedWindows(), 6 * time.Second, 9 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			far := serveFar(t, newGate(t, "db"), test.opts...)
			took, err := far.upload(t.Context(), large, test.size)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("8 MiB in messages of %d KiB with %d options took %s", test.size>>10, len(test.opts), took)
			if took < test.min || took > test.max {
				t.Errorf("8 MiB in messages of %d KiB with %d options took %s, want %s to %s",
					test.size>>10, len(test.opts), took, test.min, test.max)
			}
		})
	}
}

func TestBoundedWindowsBoundWhatAWaitingCallSends(t *testing.T) {
	for _, test := range []struct {
		name     string
		opts     []grpc.ServerOption
		min, max int64
	}{
		{"bounded", grpcgate.BoundedWindows(), 60 << 10, 68 << 10},
		{"as grpc-go widens them", nil, 500 << 10, 8 << 20},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := newGate(t, "db", gate.WithMaxWait(time.Minute))
			far := serveFar(t, g, test.opts...)
			if _, err := far.upload(t.Context(), large, 8<<10); err != nil { // the windows become wide
				t.Fatal(err)
			}
			release := fill(t, g)
			before := far.sent.Load()
			over := make(chan error, 1)
			go func() {
				_, err := far.upload(t.Context(), large, 8<<10)
				over <- err
			}()
			time.Sleep(5 * time.Second)
			sent := far.sent.Load() - before
			t.Logf("%s: a waiting call has sent %d KiB", test.name, sent>>10)
			if g.Waiting() != 1 || sent < test.min || sent > test.max {
				t.Errorf("%s: %d calls wait and have sent %d bytes, want one and %d to %d",
					test.name, g.Waiting(), sent, test.min, test.max)
			}
			release()
			if err := <-over; err != nil {
				t.Error(err)
			}
		})
	}
}

func TestWaitingCallsLeaveTheConnectionUsable(t *testing.T) {
	for _, opts := range [][]grpc.ServerOption{nil, grpcgate.BoundedWindows()} {
		synctest.Test(t, func(t *testing.T) {
			const waiting = 300 // which send more than the connection's window
			g := newGate(t, "db", gate.WithMaxWait(time.Minute), gate.WithMaxWaiting(waiting))
			policy, err := gate.NewPolicy(gate.Exempt(conformance.Unary.Route()), gate.Route("*", g))
			if err != nil {
				t.Fatal(err)
			}
			far := serveFar(t, policy, opts...)
			release := fill(t, g)
			ctx, cancel := context.WithCancel(t.Context())
			var over sync.WaitGroup
			for range waiting {
				over.Go(func() { _, _ = far.upload(ctx, 128<<10, 16<<10) })
			}
			time.Sleep(5 * time.Second)
			if g.Waiting() != waiting {
				t.Fatalf("%d calls wait, want %d", g.Waiting(), waiting)
			}
			start := time.Now()
			_, err = far.client.Unary(t.Context(), &testv1.UnaryRequest{Text: strings.Repeat("x", 32<<10)})
			if took := time.Since(start); err != nil || took > 100*time.Millisecond {
				t.Errorf("a call beside those that wait took %s: %v", took, err)
			}
			cancel()
			over.Wait()
			time.Sleep(time.Second) // until the server has heard of it
			release()
		})
	}
}
