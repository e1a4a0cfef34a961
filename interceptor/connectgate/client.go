package connectgate

import (
	"context"

	"connectrpc.com/connect"
	connectv2 "connectrpc.com/connect/v2"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/internal/host"
	"github.com/rpcgate/rpcgate/interceptor/internal/refusal"
)

// sentRequestID returns the id of a call that a client makes: the one that it sends,
// or that of the call being handled.
func sentRequestID(ctx context.Context, sent string) string {
	if sent != "" {
		return sent
	}
	if info, ok := connect.CallInfoForHandlerContext(ctx); ok {
		return requestID(info.RequestHeader())
	}
	if info, ok := connectv2.CallInfoForServerContext(ctx); ok {
		return host.RequestID(info.RequestHeader().Get(refusal.RequestIDHeader))
	}
	return ""
}

// clientLease is the lease of a client's stream. It is released by release, and when
// the stream's context ends, after which nothing is sent or received.
type clientLease struct {
	lease gate.Lease
	stop  func() bool
}

func newClientLease(ctx context.Context, lease gate.Lease) clientLease {
	if ctx.Done() == nil {
		return clientLease{lease, func() bool { return true }}
	}
	return clientLease{lease, context.AfterFunc(ctx, lease.Release)}
}

func (l clientLease) release() {
	l.stop()
	l.lease.Release()
}
