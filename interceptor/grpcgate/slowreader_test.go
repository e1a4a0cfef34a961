package grpcgate_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	testv1 "github.com/rpcgate/rpcgate/gen/rpcgate/test/v1"
	"github.com/rpcgate/rpcgate/interceptor/grpcgate"
	"github.com/rpcgate/rpcgate/internal/conformance"
)

// TestAStreamThatNobodyReadsEndsWithItsDeadline says what the package's documentation says of grpc-go.
func TestAStreamThatNobodyReadsEndsWithItsDeadline(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newGate(t, "db")
		var sent atomic.Int64
		c := serve(t, func(_ context.Context, _ conformance.Shape, s conformance.Stream) error {
			for {
				if err := s.Send(string(make([]byte, 1<<10))); err != nil {
					return err
				}
				sent.Add(1)
			}
		}, grpcgate.ServerOptions(g))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		stream, err := c.ServerStream(ctx, &testv1.ServerStreamRequest{})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute - 1)
		if n := g.InFlight(); n != 1 || sent.Load() < 32 || sent.Load() > 256 {
			t.Errorf("%d in flight after %d KiB, want the stream to wait for its client", n, sent.Load())
		}
		time.Sleep(time.Nanosecond)
		if synctest.Wait(); g.InFlight() != 0 {
			t.Error("the stream holds its lease after its deadline")
		}
		for err = nil; err == nil; {
			_, err = stream.Recv()
		}
		wantCode(t, err, codes.DeadlineExceeded)
	})
}
