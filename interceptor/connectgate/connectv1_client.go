package connectgate

import (
	"context"
	"errors"
	"io"
	"net/http"

	"connectrpc.com/connect"

	"github.com/rpcgate/rpcgate/gate"
)

// unaryClient gates a call that a client makes.
func (i *interceptorV1) unaryClient(ctx context.Context, req connect.AnyRequest, next connect.UnaryFunc) (connect.AnyResponse, error) {
	route := req.Spec().Procedure
	if i.host.Exempts(route) {
		return next(ctx, req)
	}
	header := req.Header()
	call := gate.Call{Route: route, RequestID: sentRequestID(ctx, requestID(header)), Size: gate.SizeUnknown}
	i.host.Describe(ctx, &call, header, req.Any())
	lease, err := i.host.AcquireClient(ctx, &call)
	if err != nil {
		return nil, i.notSent(ctx, err)
	}
	defer lease.Release()
	return next(ctx, req)
}

// WrapStreamingClient implements [connect.Interceptor].
func (i *interceptorV1) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return func(ctx context.Context, spec connect.Spec) connect.StreamingClientConn {
		if i.host.Exempts(spec.Procedure) {
			return next(ctx, spec)
		}
		call := gate.Call{Route: spec.Procedure, RequestID: sentRequestID(ctx, ""), Size: gate.SizeUnknown}
		i.host.Describe(ctx, &call, http.Header(nil), nil) // the headers are set later
		lease, err := i.host.AcquireClient(ctx, &call)
		if err != nil {
			return newRefusedConn(spec, i.notSent(ctx, err))
		}
		return i.holdClient(ctx, spec, lease, next)
	}
}

// holdClient makes a connection that holds the lease. The lease is released if next
// panics.
func (i *interceptorV1) holdClient(
	ctx context.Context, spec connect.Spec, lease gate.Lease, next connect.StreamingClientFunc,
) connect.StreamingClientConn {
	made := false
	defer func() {
		if !made {
			lease.Release()
		}
	}()
	conn := next(ctx, spec)
	made = true
	return &clientConn{
		StreamingClientConn: conn,
		first: spec.StreamType&connect.StreamTypeServer == 0 ||
			i.host.StreamMode(spec.Procedure) == gate.HoldOpening,
		lease: newClientLease(ctx, lease),
	}
}

// notSent returns the error of a call that a client's gate did not admit.
func (i *interceptorV1) notSent(ctx context.Context, err error) error {
	if r, ok := i.host.Refusal(ctx, err); ok {
		return refusalV1(nil, r.Local(), err)
	}
	return failedV1(err)
}

// clientConn is a client's stream that holds a lease.
type clientConn struct {
	connect.StreamingClientConn
	first bool // the lease ends with the first response
	lease clientLease
}

func (c *clientConn) Send(msg any) error {
	err := c.StreamingClientConn.Send(msg)
	if err != nil && !errors.Is(err, io.EOF) {
		c.lease.release() // io.EOF: the server's answer is still to be received
	}
	return err
}

func (c *clientConn) CloseRequest() error {
	err := c.StreamingClientConn.CloseRequest()
	if err != nil {
		c.lease.release()
	}
	return err
}

func (c *clientConn) Receive(msg any) error {
	err := c.StreamingClientConn.Receive(msg)
	if err != nil || c.first {
		c.lease.release()
	}
	return err
}

func (c *clientConn) CloseResponse() error {
	defer c.lease.release()
	return c.StreamingClientConn.CloseResponse()
}

// refusedConn is the stream of a call that was not sent.
type refusedConn struct {
	spec                     connect.Spec
	err                      error
	request, header, trailer http.Header
}

func newRefusedConn(spec connect.Spec, err error) *refusedConn {
	return &refusedConn{spec: spec, err: err, request: http.Header{}, header: http.Header{}, trailer: http.Header{}}
}

func (c *refusedConn) Spec() connect.Spec           { return c.spec }
func (c *refusedConn) Peer() connect.Peer           { return connect.Peer{} }
func (c *refusedConn) Send(any) error               { return c.err }
func (c *refusedConn) RequestHeader() http.Header   { return c.request }
func (c *refusedConn) CloseRequest() error          { return nil }
func (c *refusedConn) Receive(any) error            { return c.err }
func (c *refusedConn) ResponseHeader() http.Header  { return c.header }
func (c *refusedConn) ResponseTrailer() http.Header { return c.trailer }
func (c *refusedConn) CloseResponse() error         { return nil }
