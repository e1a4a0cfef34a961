package grpcgate_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rpcgate/rpcgate/gate"
	testv1 "github.com/rpcgate/rpcgate/gen/rpcgate/test/v1"
	"github.com/rpcgate/rpcgate/internal/conformance"
	"github.com/rpcgate/rpcgate/internal/conformance/grpchost"
)

// bubble runs a test in a bubble in which time is exact and costs nothing. A
// goroutine that is left behind fails it.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

// newGate makes a gate for one call that is empty at the end of the test.
func newGate(t *testing.T, name string, opts ...gate.Option) *gate.Gate {
	t.Helper()
	g, err := gate.New(name, 1, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if n, w := g.InFlight(), g.Waiting(); n != 0 || w != 0 {
			t.Errorf("gate %s: %d in flight and %d waiting at the end", name, n, w)
		}
	})
	return g
}

func fill(t *testing.T, g *gate.Gate) (release func()) {
	t.Helper()
	lease, err := g.TryAcquire(gate.Call{})
	if err != nil {
		t.Fatal(err)
	}
	return lease.Release
}

// serve serves the echo service with the given options.
func serve(t *testing.T, handler conformance.Handler, server []grpc.ServerOption, dial ...grpc.DialOption) testv1.EchoServiceClient {
	t.Helper()
	if handler == nil {
		handler = conformance.Echo
	}
	s := grpc.NewServer(server...)
	testv1.RegisterEchoServiceServer(s, grpchost.Service{Handler: handler})
	return testv1.NewEchoServiceClient(grpchost.Serve(t, s, dial...))
}

// retryPolicy is a service config as a careful team has it.
func retryPolicy(retryable ...string) grpc.DialOption {
	return grpc.WithDefaultServiceConfig(`{"methodConfig": [{
		"name": [{"service": "rpcgate.test.v1.EchoService"}],
		"retryPolicy": {
			"maxAttempts": 4, "initialBackoff": "0.01s", "maxBackoff": "0.01s", "backoffMultiplier": 1,
			"retryableStatusCodes": ["` + strings.Join(retryable, `","`) + `"]
		}}]}`)
}

// attempts counts the calls that reach the server.
func attempts(n *int) grpc.ServerOption {
	return grpc.ChainUnaryInterceptor(func(
		ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler,
	) (any, error) {
		*n++
		return handler(ctx, req)
	})
}

func wantCode(t *testing.T, err error, want codes.Code) {
	t.Helper()
	if got := status.Code(err); got != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func wantTook(t *testing.T, start time.Time, want time.Duration) {
	t.Helper()
	if got := time.Since(start); got != want {
		t.Errorf("took %s, want %s", got, want)
	}
}

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// dial serves s and returns a connection to it.
func dial(t *testing.T, s *grpc.Server, opts ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	return grpchost.Serve(t, s, opts...)
}
