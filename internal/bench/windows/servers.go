package windows

import (
	"context"
	"net"
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/rpcgate/rpcgate/gate"
	testv1 "github.com/rpcgate/rpcgate/gen/rpcgate/test/v1"
	"github.com/rpcgate/rpcgate/gen/rpcgate/test/v1/testv1connect"
	"github.com/rpcgate/rpcgate/interceptor/connectgate"
	"github.com/rpcgate/rpcgate/interceptor/grpcgate"
	"github.com/rpcgate/rpcgate/interceptor/httpgate"
	"github.com/rpcgate/rpcgate/internal/bench/echo"
)

// server is one way to set up a server.
type server struct {
	name string
	// bounded says that calls that wait must not hold up others.
	bounded bool
	start   func(a gate.Admitter) (echo.Server, error)
}

func servers() []server {
	return []server{
		{"net/http", false, overHTTP(nil)},
		{"net/http, ConfigureServer", true, overHTTP(func(s *http.Server) { httpgate.ConfigureServer(s) })},
		{"net/http, ConfigureServer, WithSmallWindows", true, overHTTP(func(s *http.Server) {
			httpgate.ConfigureServer(s, httpgate.WithSmallWindows())
		})},
		{"grpc-go", true, func(a gate.Admitter) (echo.Server, error) { return echo.NewGRPC(nil, grpcgate.ServerOptions(a)...) }},
		{"grpc-go, BoundedWindows", true, func(a gate.Admitter) (echo.Server, error) {
			return echo.NewGRPC(nil, append(grpcgate.ServerOptions(a), grpcgate.BoundedWindows()...)...)
		}},
	}
}

// overHTTP serves Connect behind the middleware.
func overHTTP(configure func(*http.Server)) func(gate.Admitter) (echo.Server, error) {
	return func(a gate.Admitter) (echo.Server, error) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return echo.Server{}, err
		}
		var protocols http.Protocols
		protocols.SetUnencryptedHTTP2(true)
		s := &http.Server{Handler: connectgate.NewMiddleware(a)(echo.ConnectV1()), Protocols: &protocols}
		if configure != nil {
			configure(s)
		}
		go func() { _ = s.Serve(l) }() // ends when it is closed
		return echo.Server{Protocol: echo.Connect, Addr: l.Addr().String(), Close: func() { _ = s.Close() }}, nil
	}
}

// upload is a stream of requests.
type upload interface {
	Send(*testv1.ClientStreamRequest) error
	// finish ends the stream and waits for the answer.
	finish() error
}

// open returns a function that begins uploads on one connection to a server, and one that closes it.
func open(s echo.Server, l link) (begin func(context.Context) (upload, error), shut func(), err error) {
	if s.Protocol == echo.Connect {
		var protocols http.Protocols
		protocols.SetUnencryptedHTTP2(true)
		transport := &http.Transport{Protocols: &protocols, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return l.dial(ctx)
		}}
		c := testv1connect.NewEchoServiceClient(&http.Client{Transport: transport}, "http://"+s.Addr)
		return func(ctx context.Context) (upload, error) {
			return connectUpload{c.ClientStream(ctx)}, nil
		}, transport.CloseIdleConnections, nil
	}
	conn, err := grpc.NewClient("passthrough:///"+s.Addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.dial(ctx) }))
	if err != nil {
		return nil, nil, err
	}
	c := testv1.NewEchoServiceClient(conn)
	return func(ctx context.Context) (upload, error) {
		stream, err := c.ClientStream(ctx)
		return grpcUpload{stream}, err
	}, func() { _ = conn.Close() }, nil
}

type connectUpload struct {
	*connect.ClientStreamForClient[testv1.ClientStreamRequest, testv1.ClientStreamResponse]
}

func (u connectUpload) finish() error {
	_, err := u.CloseAndReceive()
	return err
}

type grpcUpload struct {
	grpc.ClientStreamingClient[testv1.ClientStreamRequest, testv1.ClientStreamResponse]
}

func (u grpcUpload) finish() error {
	_, err := u.CloseAndRecv()
	return err
}
