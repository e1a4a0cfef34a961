package grpcgate_test

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"

	"github.com/rpcgate/rpcgate/gate"
	testv1 "github.com/rpcgate/rpcgate/gen/rpcgate/test/v1"
	"github.com/rpcgate/rpcgate/interceptor/grpcgate"
	"github.com/rpcgate/rpcgate/internal/conformance"
	"github.com/rpcgate/rpcgate/internal/conformance/grpchost"
)

// countingCodec counts the messages that the server decodes.
type countingCodec struct {
	encoding.CodecV2
	decoded *int
}

func (c countingCodec) Unmarshal(data mem.BufferSlice, v any) error {
	*c.decoded++
	return c.CodecV2.Unmarshal(data, v)
}

func counting(decoded *int) grpc.ServerOption {
	return grpc.ForceServerCodecV2(countingCodec{encoding.GetCodecV2(proto.Name), decoded})
}

func TestBeforeDecodeARefusedOrWaitingRequestIsNotDecoded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newGate(t, "db", gate.WithMaxWait(time.Minute), gate.WithMaxWaiting(1))
		decoded, intercepted := 0, 0
		s := grpc.NewServer(counting(&decoded), attempts(&intercepted))
		testv1.RegisterEchoServiceServer(grpcgate.BeforeDecode(s, g), grpchost.Service{Handler: conformance.Echo})
		c := testv1.NewEchoServiceClient(dial(t, s))

		release := fill(t, g)
		waited := make(chan error)
		go func() {
			_, err := c.Unary(t.Context(), &testv1.UnaryRequest{Text: "hello"})
			waited <- err
		}()
		time.Sleep(time.Second)
		if n := g.Waiting(); n != 1 {
			t.Fatalf("%d waiting, want 1", n)
		}
		refusedBy(t, c)
		if decoded != 0 || intercepted != 0 {
			t.Errorf("%d requests decoded and %d interceptors run, want none", decoded, intercepted)
		}
		release()
		if err := <-waited; err != nil {
			t.Error(err)
		}
		if decoded != 1 || intercepted != 1 {
			t.Errorf("%d requests decoded and %d interceptors run, want one", decoded, intercepted)
		}
	})
}

func TestBeforeDecodeRefusedClientWaitsTheServersDelay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newGate(t, "db", gate.WithMaxWait(0), gate.WithRetryDelay(3*time.Second, 3*time.Second))
		s := grpc.NewServer()
		testv1.RegisterEchoServiceServer(grpcgate.BeforeDecode(s, g), grpchost.Service{Handler: conformance.Echo})
		c := testv1.NewEchoServiceClient(dial(t, s, retryPolicy("RESOURCE_EXHAUSTED")))
		start := time.Now()
		time.AfterFunc(time.Second, fill(t, g))
		if _, err := c.Unary(t.Context(), &testv1.UnaryRequest{}); err != nil {
			t.Fatal(err)
		}
		wantTook(t, start, 3*time.Second)
	})
}

func TestBeforeDecodeAndInterceptorsOfAnotherGateBothCount(t *testing.T) {
	bubble(t, func(t *testing.T) {
		outer, inner := newGate(t, "outer"), newGate(t, "inner")
		held := func() [2]int64 { return [2]int64{outer.InFlight(), inner.InFlight()} }
		s := grpc.NewServer(grpcgate.ServerOptions(inner)...)
		testv1.RegisterEchoServiceServer(grpcgate.BeforeDecode(s, outer), grpchost.Service{
			Handler: func(ctx context.Context, shape conformance.Shape, stream conformance.Stream) error {
				if got := held(); got != [2]int64{1, 1} {
					t.Errorf("in flight %v, want one at each", got)
				}
				return conformance.Echo(ctx, shape, stream)
			},
		})
		c := testv1.NewEchoServiceClient(dial(t, s))
		if _, err := c.Unary(t.Context(), &testv1.UnaryRequest{}); err != nil {
			t.Fatal(err)
		}
	})
}

// The services that are registered keep what reflection and others find out
// about them.
func TestBeforeDecodeLeavesTheDescriptionsAlone(t *testing.T) {
	g := newGate(t, "db")
	plain, gated := grpc.NewServer(), grpc.NewServer()
	testv1.RegisterEchoServiceServer(plain, grpchost.Service{})
	testv1.RegisterEchoServiceServer(grpcgate.BeforeDecode(gated, g), grpchost.Service{})
	const name = "rpcgate.test.v1.EchoService"
	a, b := plain.GetServiceInfo()[name], gated.GetServiceInfo()[name]
	if a.Metadata != b.Metadata || len(a.Methods) != len(b.Methods) {
		t.Errorf("got the service info %+v, want %+v", b, a)
	}
	for _, m := range testv1.EchoService_ServiceDesc.Methods {
		if m.Handler == nil {
			t.Error("the generated description was changed")
		}
	}
}
