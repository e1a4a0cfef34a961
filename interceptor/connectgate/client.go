package connectgate

import (
	"context"

	"github.com/rpcgate/rpcgate/gate"
)

// clientLease is the lease of a client's stream. It is given back by release, or
// when the stream's context ends, after which nothing is sent or received.
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
