package grpcgate

import (
	"context"

	"google.golang.org/grpc"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/internal/host"
	"github.com/rpcgate/rpcgate/interceptor/internal/refusal"
)

// UnaryClientInterceptor returns an interceptor that puts a in front of the unary
// calls of a client: a budget for a downstream, so that a slow one cannot tie up
// all of this process.
//
//	grpc.NewClient(target, grpc.WithChainUnaryInterceptor(
//		grpcgate.UnaryClientInterceptor(gate.Must(gate.New("pricing", 32)))))
//
// A refused call is not sent. Its error has the status that a server would have
// sent, with the text "client busy" and side=client in the metadata of ErrorInfo,
// and wraps the *[gate.Rejection]; [IsLocal] tells it from a server's. A handler
// that returns it tells its own client "server busy" ([ServerOptions]).
//
// The place is held until the call has ended, with all attempts of a retry policy
// and the delays between them. An interceptor that retries further out gives it
// back in between. Use a gate of its own for a downstream: a call that goes
// through the gate its handler already holds would wait for itself.
//
// The request id of the gate's events is the x-request-id that is sent, or else
// that of the call which is being handled. Options that look at metadata look at
// what is sent. Routes that are exempt for servers are exempt for clients, too. A
// nil a or an option with a bad value panics.
func UnaryClientInterceptor(a gate.Admitter, opts ...Option) grpc.UnaryClientInterceptor {
	return newClient(a, opts).unary
}

// StreamClientInterceptor is [UnaryClientInterceptor] for streams. A stream holds
// its place until it has ended: Recv has returned an error, io.EOF included, or
// the one response there is; opening it, Send or Header has failed; its context
// has ended; or the connection was closed. As grpc-go says of its own resources,
// who loses interest in a stream before that must cancel its context, or the
// place is lost.
//
// A route with [gate.HoldOpening] holds its place until the first response was
// received. gate.HoldMessage is for servers: here it is the same as
// gate.HoldStream.
func StreamClientInterceptor(a gate.Admitter, opts ...Option) grpc.StreamClientInterceptor {
	return newClient(a, opts).stream
}

// client is a gate as the interceptors of a client use it.
type client struct {
	host *host.Host
}

func newClient(a gate.Admitter, opts []Option) *client {
	return &client{host: host.Must(pkg, a, opts)}
}

func (c *client) unary(
	ctx context.Context, method string, req, reply any, cc *grpc.ClientConn,
	invoker grpc.UnaryInvoker, opts ...grpc.CallOption,
) error {
	if c.host.Exempts(method) {
		return invoker(ctx, method, req, reply, cc, opts...)
	}
	call := c.call(ctx, method, req)
	lease, err := c.host.AcquireClient(ctx, &call)
	if err != nil {
		return c.notAdmitted(ctx, err)
	}
	defer lease.Release()
	return invoker(ctx, method, req, reply, cc, opts...)
}

// call is what the gate is told about a call that is about to be sent.
func (c *client) call(ctx context.Context, route string, req any) gate.Call {
	call := gate.Call{Route: route, Caller: c}
	if c.host.Describes() {
		c.host.Describe(ctx, &call, outgoing{ctx}, req)
	}
	return call
}

// Identify finds the id of the request. The caller is this process.
func (c *client) Identify(ctx context.Context) (requestID, remoteIP string) {
	if id := host.RequestID(outgoing{ctx}.Get(refusal.RequestIDMetadata)); id != "" {
		return id, ""
	}
	return host.RequestID(incoming{ctx}.Get(refusal.RequestIDMetadata)), ""
}

// notAdmitted is the error of a call that was not sent.
func (c *client) notAdmitted(ctx context.Context, err error) error {
	if r, ok := c.host.Refusal(ctx, err); ok {
		return newRefused(r.Local(), err)
	}
	return failure(err)
}
