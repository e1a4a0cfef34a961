package grpcgate

import (
	"context"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/rpcgate/rpcgate/gate"
)

func (c *client) stream(
	ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string,
	streamer grpc.Streamer, opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	if c.host.Exempts(method) {
		return streamer(ctx, desc, cc, method, opts...)
	}
	call := c.call(ctx, method, nil)
	lease, err := c.host.AcquireClient(ctx, &call)
	if err != nil {
		return nil, c.notAdmitted(ctx, err)
	}
	opened := false
	defer func() {
		if !opened { // also if streamer panics
			lease.Release()
		}
	}()
	// The wrapped stream does not see that a connection is closed while no
	// goroutine uses the stream. It sees all other ends. They do not count here,
	// since an interceptor between here and the connection may try again, with the
	// same options.
	opts = append(opts[:len(opts):len(opts)], grpc.OnFinish(func(err error) {
		if status.Code(err) == codes.Canceled {
			lease.Release()
		}
	}))
	stream, err := streamer(ctx, desc, cc, method, opts...)
	if err != nil {
		return nil, err
	}
	opened = true
	return &clientStream{
		ClientStream: stream,
		lease:        lease,
		forget:       context.AfterFunc(ctx, lease.Release),
		last:         !desc.ServerStreams || c.host.StreamMode(method) == gate.HoldOpening,
	}, nil
}

// clientStream is a client's stream that holds a lease. Send, Recv and release may
// all run at the same time.
type clientStream struct {
	grpc.ClientStream
	lease  gate.Lease
	forget func() bool
	last   bool // the lease ends with the first response
}

func (s *clientStream) release() {
	s.forget()
	s.lease.Release()
}

func (s *clientStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if err != nil || s.last {
		s.release()
	}
	return err
}

func (s *clientStream) SendMsg(m any) error {
	err := s.ClientStream.SendMsg(m)
	if err != nil && err != io.EOF { // io.EOF: the server's status is still to be received
		s.release()
	}
	return err
}

func (s *clientStream) Header() (metadata.MD, error) {
	md, err := s.ClientStream.Header()
	if err != nil {
		s.release()
	}
	return md, err
}
