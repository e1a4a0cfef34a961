package grpcgate

import (
	"context"

	"google.golang.org/grpc"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/internal/host"
)

// heldStream is a stream with the context that carries its lease.
type heldStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s *heldStream) Context() context.Context { return s.ctx }

// openingStream releases its lease when the first response was sent.
type openingStream struct {
	heldStream
	lease  gate.Lease
	opened bool // only used by SendMsg, which never runs concurrently with itself
}

func (s *openingStream) SendMsg(m any) error {
	err := s.ServerStream.SendMsg(m)
	if !s.opened {
		s.opened = true
		s.lease.Release()
	}
	return err
}

// messageStream takes a lease for each message it receives.
type messageStream struct {
	grpc.ServerStream
	server   *server
	messages *host.Messages
}

func (s *messageStream) Context() context.Context { return s.messages.Context() }

func (s *messageStream) RecvMsg(m any) error {
	s.messages.Next()
	if err := s.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	if err := s.messages.Admit(m); err != nil {
		return s.server.notAdmitted(s.Context(), err)
	}
	return nil
}
