package rollout

import (
	"context"
	"net"
	"net/http"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/grpc"

	"github.com/rpcgate/rpcgate/gate"
	testv1 "github.com/rpcgate/rpcgate/gen/rpcgate/test/v1"
	"github.com/rpcgate/rpcgate/gen/rpcgate/test/v1/testv1connect"
	"github.com/rpcgate/rpcgate/interceptor"
	"github.com/rpcgate/rpcgate/interceptor/connectgate"
	"github.com/rpcgate/rpcgate/interceptor/grpcgate"
	"github.com/rpcgate/rpcgate/interceptor/httpgate"
)

// host is a kind of server, with its clients.
type host struct {
	name   string
	closes bool // connections on which a request may be on its way
	// serve serves behind a gate of its own.
	serve func(l net.Listener, opts ...interceptor.ShutdownOption) (shutdown func(context.Context) error)
	// client returns a function that makes a call, of the given length.
	client func(c *cluster, retries bool) func(ctx context.Context, long time.Duration) error
}

func hosts() []host {
	return []host{
		{"grpc-go", false, serveGRPC, grpcClient},
		{"Connect over HTTP/2", false, serveConnect, connectClient((*http.Protocols).SetUnencryptedHTTP2)},
		{"Connect over HTTP/1.1", true, serveConnect, connectClient((*http.Protocols).SetHTTP1)},
	}
}

func newGate() *gate.Gate { return gate.Must(gate.New("db", 64)) }

// work takes as long as the request says.
func work(req *testv1.UnaryRequest) *testv1.UnaryResponse {
	if long, err := time.ParseDuration(req.GetText()); err == nil {
		time.Sleep(long)
	}
	return &testv1.UnaryResponse{Text: req.GetText()}
}

type grpcService struct {
	testv1.UnimplementedEchoServiceServer
}

func (grpcService) Unary(_ context.Context, req *testv1.UnaryRequest) (*testv1.UnaryResponse, error) {
	return work(req), nil
}

func serveGRPC(l net.Listener, opts ...interceptor.ShutdownOption) func(context.Context) error {
	g := newGate()
	srv := grpc.NewServer(grpcgate.ServerOptions(g)...)
	testv1.RegisterEchoServiceServer(srv, grpcService{})
	stopper := grpcgate.NewStopper(srv, opts...)
	go func() { _ = srv.Serve(l) }()
	return func(ctx context.Context) error { return stopper.Shutdown(ctx, g) }
}

type connectService struct {
	testv1connect.UnimplementedEchoServiceHandler
}

func (connectService) Unary(
	_ context.Context, req *connect.Request[testv1.UnaryRequest],
) (*connect.Response[testv1.UnaryResponse], error) {
	return connect.NewResponse(work(req.Msg)), nil
}

func serveConnect(l net.Listener, opts ...interceptor.ShutdownOption) func(context.Context) error {
	g := newGate()
	_, h := testv1connect.NewEchoServiceHandler(connectService{}, connect.WithInterceptors(connectgate.NewInterceptor(g)))
	var both http.Protocols
	both.SetHTTP1(true)
	both.SetUnencryptedHTTP2(true)
	srv := &http.Server{Handler: h, Protocols: &both}
	stopper := httpgate.NewStopper(srv, opts...)
	go func() { _ = srv.Serve(l) }()
	return func(ctx context.Context) error { return stopper.Shutdown(ctx, g) }
}
