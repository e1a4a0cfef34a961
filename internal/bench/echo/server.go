package echo

import (
	"net"
	"net/http"

	"connectrpc.com/connect"
	connectv2 "connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"google.golang.org/grpc"

	testv1connectv2 "github.com/rpcgate/rpcgate/gen/connectv2/rpcgate/test/v1/testv1connect"
	testv1 "github.com/rpcgate/rpcgate/gen/rpcgate/test/v1"
	"github.com/rpcgate/rpcgate/gen/rpcgate/test/v1/testv1connect"
)

// Server is a server on a port of the loopback interface.
type Server struct {
	Protocol Protocol `json:"protocol"`
	Addr     string   `json:"addr"`
	Close    func()   `json:"-"`
}

// Protocol is that of a client.
type Protocol string

// The protocols.
const (
	GRPC    Protocol = "gRPC"
	Connect Protocol = "Connect"
)

// maxStreams is more than any client here has calls at once.
const maxStreams = 5000

// NewGRPC serves with grpc-go. The service is registered by way of before, if that is not nil.
func NewGRPC(before func(grpc.ServiceRegistrar) grpc.ServiceRegistrar, opts ...grpc.ServerOption) (Server, error) {
	s := grpc.NewServer(opts...)
	registrar := grpc.ServiceRegistrar(s)
	if before != nil {
		registrar = before(s)
	}
	testv1.RegisterEchoServiceServer(registrar, grpcService{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return Server{}, err
	}
	go func() { _ = s.Serve(l) }() // ends when it is stopped
	return Server{GRPC, l.Addr().String(), s.Stop}, nil
}

// NewHTTP serves HTTP/2 without TLS.
func NewHTTP(h http.Handler) (Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return Server{}, err
	}
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	s := &http.Server{Handler: h, Protocols: &protocols, HTTP2: &http.HTTP2Config{MaxConcurrentStreams: maxStreams}}
	go func() { _ = s.Serve(l) }() // ends when it is closed
	return Server{Connect, l.Addr().String(), func() { _ = s.Close() }}, nil
}

// ConnectV1 is the service as a handler of Connect v1.
func ConnectV1(interceptors ...connect.Interceptor) http.Handler {
	mux := http.NewServeMux()
	mux.Handle(testv1connect.NewEchoServiceHandler(connectService{}, connect.WithInterceptors(interceptors...)))
	return mux
}

// ConnectV2 is the service as a handler of Connect v2.
func ConnectV2(interceptors ...connectv2.ServerInterceptor) http.Handler {
	mux, s := http.NewServeMux(), connectv2.NewServer(interceptors...)
	testv1connectv2.RegisterEchoServiceHandler(s, connectServiceV2{})
	connecthttp.Mount(mux, s)
	return mux
}
