package grpchost

import (
	"context"
	"net"
	"net/http"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/rpcgate/rpcgate/interceptor/connectgate"
	"github.com/rpcgate/rpcgate/internal/conformance"
	"github.com/rpcgate/rpcgate/internal/memhttp"
)

// ServeHTTP is a server with grpcgate.ServerOptions behind a net/http server and
// connectgate.TrailersOnly, as such a server should be.
func ServeHTTP() conformance.Host {
	h := base("grpc-go ServeHTTP")
	delete(h.Lacks, "SlowSenderDoesNotKeepALease")
	delete(h.Lacks, "DrainingOverHttp2LeavesTheConnectionToOthers")
	h.Start = func(t testing.TB, s conformance.Setup) conformance.Client {
		server := grpc.NewServer(Interceptors(s)...)
		Register(server, s.Handler)
		overHTTP := s.Serve(t, connectgate.TrailersOnly(server))
		return httpClient{NewClient(DialHTTP(t, overHTTP)), overHTTP}
	}
	return h
}

// httpClient is a client of a server behind net/http.
type httpClient struct {
	conformance.Client
	server *memhttp.Server
}

func (c httpClient) Connections() int { return c.server.Connections() }

// Over returns the server and an HTTP/2 client of it.
func (c httpClient) Over() (*memhttp.Server, *http.Client) { return c.server, c.server.ClientHTTP2() }

// Post returns a call in gRPC.
func (c httpClient) Post(text string) (path string, header http.Header, body string) {
	return conformance.Unary.Route(), conformance.PostHeader("application/grpc+proto"), conformance.GRPCBody(text)
}

// DialHTTP returns a connection of grpc-go to an HTTP server without TLS.
func DialHTTP(t testing.TB, server *memhttp.Server, opts ...grpc.DialOption) *grpc.ClientConn {
	opts = append([]grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return server.Dial(ctx) }),
	}, opts...)
	conn, err := grpc.NewClient("passthrough:///memory", opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}
