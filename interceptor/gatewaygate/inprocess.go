package gatewaygate

import (
	"context"
	"fmt"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/rpcgate/rpcgate/interceptor/internal/mistake"
)

// InProcess connects a gateway to a server in the same process, through memory,
// without a port:
//
//	conn, err := gatewaygate.InProcess(srv)
//	…
//	err = ordersv1.RegisterOrderServiceHandler(ctx, mux, conn)
//
// Unlike RegisterXHandlerServer, which calls the implementation itself, calls go
// through the server with all its interceptors, the gate among them, and its
// stats handlers. They come from 127.0.0.1: with
// interceptor.WithTrustedProxies("127.0.0.1") the server knows the address of the
// gateway's client, by the X-Forwarded-For that the gateway sends along.
//
// srv must have its services registered; it may serve other listeners, too. Close
// the connection before srv is stopped. The listener goes with srv. It is an error
// if srv is nil or an option is wrong. Calls fail with Unavailable when srv has
// been stopped.
func InProcess(srv *grpc.Server, opts ...grpc.DialOption) (*grpc.ClientConn, error) {
	if srv == nil {
		return nil, mistake.Nil("gatewaygate.InProcess", "a server")
	}
	listener := bufconn.Listen(bufferSize)
	opts = append([]grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return listener.DialContext(ctx)
		}),
	}, opts...)
	conn, err := grpc.NewClient("passthrough:///in-process", opts...)
	if err != nil {
		return nil, fmt.Errorf("gatewaygate.InProcess: %w", err)
	}
	// It ends when srv is stopped, and at once if it was already: then the
	// listener is closed.
	go func() { _ = srv.Serve(loopback{listener}) }()
	return conn, nil
}

// bufferSize is that of the pipe, per direction: what grpc-go writes at once.
const bufferSize = 64 << 10

// loopback is a listener whose clients have the address of this machine.
type loopback struct{ net.Listener }

func (l loopback) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return loopbackConn{conn}, nil
}

type loopbackConn struct{ net.Conn }

func (loopbackConn) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }
