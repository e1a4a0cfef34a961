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
// RegisterXHandlerServer calls the implementation directly. Calls over this connection
// go through the server with its stats handlers and all its interceptors, the gate
// included. Their address is 127.0.0.1. With
// interceptor.WithTrustedProxies("127.0.0.1") the server uses the address of the
// gateway's client, which the gateway sends in X-Forwarded-For.
//
// Register the services on srv before. srv may serve other listeners, too. Close the
// connection before srv is stopped. It is an error if srv is nil or an option is
// wrong. Calls fail with Unavailable when srv has been stopped.
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
	// Serve ends when srv is stopped, and at once if it has been stopped already.
	// In both cases it closes the listener.
	go func() { _ = srv.Serve(loopback{listener}) }()
	return conn, nil
}

// bufferSize is the size of the pipe in each direction: what grpc-go writes at once.
const bufferSize = 64 << 10

// loopback is a listener whose clients all have the address 127.0.0.1.
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
