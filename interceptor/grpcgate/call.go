package grpcgate

import (
	"context"
	"net"
	"strings"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/internal/host"
	"github.com/rpcgate/rpcgate/interceptor/internal/refusal"
)

// describe adds what the options say about the call. The request is nil if it has
// not been read.
//
//go:noinline
func (s *server) describe(ctx context.Context, call *gate.Call, req any) {
	s.host.Describe(ctx, call, incoming{ctx}, req)
}

// Identify finds the id of the request and the address of the caller. A server is
// the [gate.Caller] of all its calls, so that a call pays for it only if an observer
// or a refusal needs them.
func (s *server) Identify(ctx context.Context) (requestID, remoteIP string) {
	requestID = host.RequestID(incoming{ctx}.Get(refusal.RequestIDMetadata))
	p, ok := peer.FromContext(ctx)
	if !ok || p.Addr == nil {
		return requestID, ""
	}
	if tcp, ok := p.Addr.(*net.TCPAddr); ok && len(tcp.IP) > 0 && len(s.host.TrustedProxies) == 0 {
		return requestID, tcp.AddrPort().Addr().Unmap().String()
	}
	// The address of ServeHTTP, for instance, is no *net.TCPAddr.
	return requestID, s.host.RemoteIP(p.Addr.String(), incoming{ctx})
}

// incoming is the metadata that the caller has sent.
type incoming struct{ ctx context.Context }

// Get returns the first value of a key.
func (md incoming) Get(key string) string { return first(md.Values(key)) }

// Values returns all values of a key.
func (md incoming) Values(key string) []string { return metadata.ValueFromIncomingContext(md.ctx, key) }

// outgoing is the metadata that a client sends.
type outgoing struct{ ctx context.Context }

// Get returns the first value of a key.
func (md outgoing) Get(key string) string { return first(md.Values(key)) }

// Values returns all values of a key.
func (md outgoing) Values(key string) []string {
	sent, _ := metadata.FromOutgoingContext(md.ctx)
	return sent.Get(strings.ToLower(key))
}

func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}
