package grpchost

import (
	"context"
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/rpcgate/rpcgate/interceptor/grpcgate"
	"github.com/rpcgate/rpcgate/internal/conformance"
)

// All are the hosts of this package.
func All() []conformance.Host {
	return []conformance.Host{Interceptor(), BeforeDecode(), Both(), Tap(), ServeHTTP()}
}

// Interceptor is a server with grpcgate.ServerOptions.
func Interceptor() conformance.Host {
	h := base("grpc-go interceptor")
	h.Start = func(t testing.TB, s conformance.Setup) conformance.Client {
		server := grpc.NewServer(Interceptors(s)...)
		Register(server, s.Handler)
		return NewClient(Serve(t, server))
	}
	return h
}

func base(name string) conformance.Host {
	return conformance.Host{
		Name:   name,
		Shapes: conformance.Shapes(),
		Lacks: map[string]string{
			"DrainingOverHttp2LeavesTheConnectionToOthers":      "its client does not count connections",
			"HttpProbesPassAFullGate":                           conformance.NoProbes,
			"SlowSenderDoesNotKeepALease":                       conformance.SentWhole,
			"CallerThatLeavesWhileWaitingOverHttp1FreesItsTurn": conformance.NoHTTP1,
			"RefusedBodiesLeaveTheConnectionUsableOverHttp1":    conformance.NoHTTP1,
			"RefusedWhileTheBodyIsUnderWayOverHttp1":            conformance.NoHTTP1,
			"SlowReaderDoesNotKeepALease":                       conformance.NoHTTP1,
		},
		Carriers: func(conformance.Shape) conformance.Carriers {
			return conformance.Carriers{Code: true, Details: true, Pushback: true, Message: true}
		},
	}
}

// Recovery returns interceptors that answer a panic with Internal.
func Recovery() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(func(
			ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler,
		) (_ any, err error) {
			defer recovered(&err)
			return handler(ctx, req)
		}),
		grpc.ChainStreamInterceptor(func(
			srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler,
		) (err error) {
			defer recovered(&err)
			return handler(srv, stream)
		}),
	}
}

// Interceptors are those of a server that is gated by interceptors.
func Interceptors(s conformance.Setup) []grpc.ServerOption {
	return append(before(s), grpcgate.ServerOptions(s.Admitter, s.Options...)...)
}

// before are the interceptors in front of the gate.
func before(s conformance.Setup) []grpc.ServerOption {
	options := Recovery()
	if s.Translated {
		options = append(options, grpcgate.TranslatorOptions()...)
	}
	if s.Before == nil {
		return options
	}
	return append(options,
		grpc.ChainUnaryInterceptor(func(
			ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler,
		) (any, error) {
			if err := s.Before(ctx); err != nil {
				return nil, err
			}
			return handler(ctx, req)
		}),
		grpc.ChainStreamInterceptor(func(
			srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler,
		) error {
			if err := s.Before(stream.Context()); err != nil {
				return err
			}
			return handler(srv, stream)
		}))
}

func recovered(err *error) {
	if recover() != nil {
		*err = status.Error(codes.Internal, "panic")
	}
}

// Serve serves in memory until the test ends and returns a connection.
func Serve(t testing.TB, server *grpc.Server, opts ...grpc.DialOption) *grpc.ClientConn {
	listener := bufconn.Listen(1 << 16)
	served := make(chan error, 1)
	go func() { served <- server.Serve(from{listener}) }()
	opts = append([]grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return listener.DialContext(ctx)
		}),
	}, opts...)
	conn, err := grpc.NewClient("passthrough:///memory", opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return conn
}

// from is a listener whose clients have the address that the cases expect.
type from struct{ net.Listener }

func (l from) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return fromConn{conn}, nil
}

type fromConn struct{ net.Conn }

func (fromConn) RemoteAddr() net.Addr {
	return &net.TCPAddr{IP: net.ParseIP(conformance.RemoteIP), Port: 4711}
}
