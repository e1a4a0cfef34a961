package grpcgate

import (
	"context"

	"google.golang.org/grpc"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/internal/host"
	"github.com/rpcgate/rpcgate/interceptor/internal/refusal"
)

// UnaryClientInterceptor returns an interceptor that puts a in front of the unary
// calls of a client. It bounds the calls to a downstream, so that a slow one cannot
// tie up the whole process.
//
//	grpc.NewClient(target, grpc.WithChainUnaryInterceptor(
//		grpcgate.UnaryClientInterceptor(gate.Must(gate.New("pricing", 32)))))
//
// A refused call is not sent. Its error has the status that a server would send,
// with the text "client busy" and side=client in the metadata of ErrorInfo, and
// wraps the *[gate.Rejection]. [IsLocal] tells it from a server's error. If a handler
// returns it, its own client is told "server busy"; see [ServerOptions].
//
// The lease is held until the call has ended, with all attempts of a retry policy
// and the delays between them. An interceptor further out that retries takes a new
// lease for each attempt. Give each downstream a gate of its own: if a handler made
// a call through the gate that it already holds, the call would wait for itself.
//
// The request id in the gate's events is the x-request-id that is sent, or that of
// the call being handled. Options that look at metadata see what is sent. Routes
// that are exempt on servers are exempt on clients, too. The function panics if a is
// nil or an option has a bad value.
func UnaryClientInterceptor(a gate.Admitter, opts ...Option) grpc.UnaryClientInterceptor {
	return newClient(a, opts).unary
}

// StreamClientInterceptor is [UnaryClientInterceptor] for streams. A stream holds
// its lease until one of these happens:
//
//   - Recv returns an error, io.EOF included, or the only response.
//   - Opening the stream, Send or Header fails.
//   - The context of the stream ends, or the connection is closed.
//
// If you stop using a stream earlier, cancel its context, or the lease is never
// released. grpc-go's own resources need that, too.
//
// A route with [gate.HoldOpening] holds its lease until the first response was
// received. gate.HoldMessage is for servers; here it means gate.HoldStream.
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
	call := gate.Call{Route: route, Caller: c, Size: gate.SizeUnknown}
	if c.host.Describes() {
		c.host.Describe(ctx, &call, outgoing{ctx}, req)
	}
	return call
}

// Identify finds the id of the request. The caller, which is this process, has no
// address.
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
