package connectgate

import (
	"context"
	"errors"
	"io"

	connectv2 "connectrpc.com/connect/v2"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/internal/host"
	"github.com/rpcgate/rpcgate/interceptor/internal/refusal"
)

// NewClientInterceptor returns an interceptor for clients of Connect v2, as the gate
// of a downstream. A refused call is not sent. Its error has the code that a server
// would send. [IsLocal] tells it from a server's error.
//
// A call holds its lease until Receive returns an error or the only response, Close
// is called, or its context ends. If you stop using a stream earlier, call Close or
// cancel the context, or the lease is never released. With the [gate.StreamMode]
// HoldOpening a stream holds its lease until the first response was received;
// HoldMessage means HoldStream here.
//
// The interceptor is safe for concurrent use. NewClientInterceptor panics if a is nil
// or an option has a bad value.
func NewClientInterceptor(a gate.Admitter, opts ...Option) connectv2.ClientInterceptor {
	c := &clientV2{host: host.Must(pkg, a, opts)}
	return c.intercept
}

type clientV2 struct{ host *host.Host }

func (c *clientV2) intercept(next connectv2.ClientFunc) connectv2.ClientFunc {
	return func(ctx context.Context, spec connectv2.Spec) (connectv2.ClientStream, error) {
		if c.host.Exempts(spec.Procedure) {
			return next(ctx, spec)
		}
		call := c.call(ctx, spec)
		lease, err := c.host.AcquireClient(ctx, &call)
		if err != nil {
			return nil, c.notSent(ctx, err)
		}
		held := false
		defer func() {
			if !held {
				lease.Release()
			}
		}()
		stream, err := next(ctx, spec)
		if err != nil {
			return nil, err
		}
		held = true
		if spec.StreamType == connectv2.StreamTypeUnary {
			ctx = context.Background() // Connect itself closes the stream in any case
		}
		return &clientStream{
			ClientStream: stream,
			first: spec.StreamType&connectv2.StreamTypeServer == 0 ||
				c.host.StreamMode(spec.Procedure) == gate.HoldOpening,
			lease: newClientLease(ctx, lease),
		}, nil
	}
}

func (c *clientV2) call(ctx context.Context, spec connectv2.Spec) gate.Call {
	var header *connectv2.Header // nil has no values
	if info, ok := connectv2.CallInfoForClientContext(ctx); ok {
		header = info.RequestHeader()
	}
	sent := host.RequestID(header.Get(refusal.RequestIDHeader))
	call := gate.Call{Route: spec.Procedure, RequestID: sentRequestID(ctx, sent), Size: gate.SizeUnknown}
	c.host.Describe(ctx, &call, header, nil)
	return call
}

// notSent returns the error of a call that the gate did not admit.
func (c *clientV2) notSent(ctx context.Context, err error) error {
	if r, ok := c.host.Refusal(ctx, err); ok {
		return refusalV2(r.Local(), false, err)
	}
	return failedV2(err)
}

// clientStream is a client's call that holds a lease.
type clientStream struct {
	connectv2.ClientStream
	first bool // the lease ends with the first response
	lease clientLease
}

func (s *clientStream) SendHeaders() error {
	return s.sent(s.ClientStream.SendHeaders())
}

func (s *clientStream) Send(msg any) error {
	return s.sent(s.ClientStream.Send(msg))
}

func (s *clientStream) CloseSend() error {
	return s.sent(s.ClientStream.CloseSend())
}

// sent releases the lease if err says that the call has failed. io.EOF only says that
// the server's answer can be received.
func (s *clientStream) sent(err error) error {
	if err != nil && !errors.Is(err, io.EOF) {
		s.lease.release()
	}
	return err
}

func (s *clientStream) Receive(msg any) error {
	err := s.ClientStream.Receive(msg)
	if err != nil || s.first {
		s.lease.release()
	}
	return err
}

func (s *clientStream) Close() error {
	defer s.lease.release()
	return s.ClientStream.Close()
}
