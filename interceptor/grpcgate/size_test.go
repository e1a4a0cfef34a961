package grpcgate_test

import (
	"testing"
	"testing/synctest"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/rpcgate/rpcgate/gate"
	testv1 "github.com/rpcgate/rpcgate/gen/rpcgate/test/v1"
	"github.com/rpcgate/rpcgate/interceptor"
	"github.com/rpcgate/rpcgate/interceptor/grpcgate"
	"github.com/rpcgate/rpcgate/internal/conformance"
	"github.com/rpcgate/rpcgate/internal/conformance/grpchost"
)

// TestSizeIsUnknownUnlessTheMessageWasRead makes a unary call and a stream through each way to have a gate.
func TestSizeIsUnknownUnlessTheMessageWasRead(t *testing.T) {
	sized := interceptor.WithSize(func(m any) int64 { return int64(proto.Size(m.(proto.Message))) })
	for name, test := range map[string]struct {
		options     []grpcgate.Option
		unary       int64
		client      bool // the gate is the client's
		afterDecode bool
	}{
		"interceptor":                {unary: gate.SizeUnknown, afterDecode: true},
		"interceptor with WithSize":  {options: []grpcgate.Option{sized}, unary: 7, afterDecode: true},
		"BeforeDecode":               {unary: gate.SizeUnknown},
		"BeforeDecode with WithSize": {options: []grpcgate.Option{sized}, unary: gate.SizeUnknown},
		"client":                     {unary: gate.SizeUnknown, client: true},
		"client with WithSize":       {options: []grpcgate.Option{sized}, unary: 7, client: true},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var calls []gate.Call
				g := newGate(t, "db", decisions(&calls))
				var server []grpc.ServerOption
				var dialed []grpc.DialOption
				switch {
				case test.client:
					dialed = append(dialed,
						grpc.WithChainUnaryInterceptor(grpcgate.UnaryClientInterceptor(g, test.options...)),
						grpc.WithChainStreamInterceptor(grpcgate.StreamClientInterceptor(g, test.options...)))
				case test.afterDecode:
					server = grpcgate.ServerOptions(g, test.options...)
				}
				s := grpc.NewServer(server...)
				var r grpc.ServiceRegistrar = s
				if !test.client && !test.afterDecode {
					r = grpcgate.BeforeDecode(s, g, test.options...)
				}
				testv1.RegisterEchoServiceServer(r, grpchost.Service{Handler: conformance.Echo})
				c := testv1.NewEchoServiceClient(dial(t, s, dialed...))
				if _, err := c.Unary(t.Context(), &testv1.UnaryRequest{Text: "hello"}); err != nil {
					t.Fatal(err)
				}
				stream, err := c.ClientStream(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if _, err := stream.CloseAndRecv(); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if len(calls) != 2 || calls[0].Size != test.unary || calls[1].Size != gate.SizeUnknown {
					t.Errorf("got the calls %+v, want the sizes %d and unknown", calls, test.unary)
				}
			})
		})
	}
}

func TestBudgetOfBytesIsRefusedAtTheTap(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := gate.Must(gate.New("bytes", gate.DefaultUnknownSize, gate.WithMaxWait(0),
			gate.WithCost(func(c gate.Call) int64 { return c.Size })))
		lease, err := g.TryAcquire(gate.Call{Size: 2})
		if err != nil {
			t.Fatal(err)
		}
		defer lease.Release()
		passed := 0 // the tap
		server := append([]grpc.ServerOption{attempts(&passed), grpc.InTapHandle(grpcgate.TapHandle(g))}, grpcgate.ServerOptions(g)...)
		refusedBy(t, serve(t, nil, server))
		if passed != 0 {
			t.Error("a call came to the interceptors although its size does not fit")
		}
	})
}
