package grpcgate_test

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/rpcgate/rpcgate/gate"
	testv1 "github.com/rpcgate/rpcgate/gen/rpcgate/test/v1"
	"github.com/rpcgate/rpcgate/interceptor/grpcgate"
	"github.com/rpcgate/rpcgate/internal/conformance"
	"github.com/rpcgate/rpcgate/internal/eras"
)

// TestOptionsServeBubblesAndTheRealClock has options for servers and clients that were made once, such as variables of a
// package.
func TestOptionsServeBubblesAndTheRealClock(t *testing.T) {
	g := gate.Must(gate.New("db", 1, gate.WithMaxWait(5*time.Millisecond)))
	downstream := gate.Must(gate.New("downstream", 2))
	server := append(grpcgate.ServerOptions(g), grpc.InTapHandle(grpcgate.TapHandle(g)))
	client := budget(downstream)
	eras.Each(t, func(t *testing.T) {
		inside, leave := make(chan struct{}), make(chan struct{})
		echo := serve(t, func(ctx context.Context, shape conformance.Shape, s conformance.Stream) error {
			inside <- struct{}{}
			<-leave
			return conformance.Echo(ctx, shape, s)
		}, server, client...)
		admitted := make(chan error)
		go func() {
			_, err := echo.Unary(t.Context(), &testv1.UnaryRequest{})
			admitted <- err
		}()
		<-inside
		_, err := echo.Unary(t.Context(), &testv1.UnaryRequest{})
		wantCode(t, err, codes.ResourceExhausted)
		close(leave)
		must(t, <-admitted)
	})
}
