package grpcgate_test

import (
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/rpcgate/rpcgate/gate"
	testv1 "github.com/rpcgate/rpcgate/gen/rpcgate/test/v1"
	"github.com/rpcgate/rpcgate/interceptor/grpcgate"
	"github.com/rpcgate/rpcgate/internal/conformance"
	"github.com/rpcgate/rpcgate/internal/conformance/grpchost"
)

// grpc-go before 1.79.3 serves a stream whose path lacks its slash, and no pattern
// of a policy matches that: the stream would pass every gate.
func TestAPathWithoutASlashIsNotServed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newGate(t, "db", gate.WithMaxWait(0))
		defer fill(t, g)()
		policy, err := gate.NewPolicy(gate.Route("/rpcgate.test.v1.*", g))
		if err != nil {
			t.Fatal(err)
		}
		server := grpc.NewServer(grpcgate.ServerOptions(policy)...)
		grpchost.Register(server, conformance.Echo)
		conn := grpchost.Serve(t, server)
		for path, want := range map[string]codes.Code{
			testv1.EchoService_BidiStream_FullMethodName:                          codes.ResourceExhausted,
			strings.TrimPrefix(testv1.EchoService_BidiStream_FullMethodName, "/"): codes.Unimplemented,
		} {
			stream, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, path)
			if err != nil {
				t.Fatal(err)
			}
			if err := stream.CloseSend(); err != nil {
				t.Error(err)
			}
			wantCode(t, stream.RecvMsg(&testv1.BidiStreamResponse{}), want)
		}
	})
}
