package grpcgate_test

import (
	"context"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
)

type fakeTransport struct{ grpc.ServerTransportStream }

func (fakeTransport) SetTrailer(metadata.MD) error { return nil }
func (fakeTransport) Trailer() metadata.MD         { return metadata.MD{} }

// callContext is a context as deep as that of a real call.
func callContext(b *testing.B) context.Context {
	type key int
	ctx := context.WithValue(b.Context(), key(0), 1)
	ctx = peer.NewContext(ctx, &peer.Peer{Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}})
	ctx, cancel := context.WithTimeout(ctx, time.Hour)
	b.Cleanup(cancel)
	ctx = metadata.NewIncomingContext(ctx, metadata.Pairs("x-request-id", "abc", "user-agent", "x"))
	ctx = context.WithValue(ctx, key(1), 1)
	ctx = grpc.NewContextWithServerTransportStream(ctx, fakeTransport{})
	return context.WithValue(ctx, key(2), 1)
}
