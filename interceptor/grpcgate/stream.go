package grpcgate

import (
	"context"
	"sync"

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

// openingStream gives its lease back once the first response was sent.
type openingStream struct {
	heldStream
	lease  gate.Lease
	opened bool // only SendMsg touches it, which must not run twice at a time
}

func (s *openingStream) SendMsg(m any) error {
	err := s.ServerStream.SendMsg(m)
	if !s.opened {
		s.opened = true
		s.lease.Release()
	}
	return err
}

// messageStream takes a place for each message it receives.
type messageStream struct {
	heldStream
	server   *server
	call     gate.Call // but for what depends on the message
	messages *host.Messages

	mu    sync.Mutex
	lease gate.Lease // of the message that the handler works on
	ended bool       // the handler has returned
}

func (s *messageStream) RecvMsg(m any) error {
	s.hold(gate.Lease{})
	if err := s.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	call := s.call
	if s.server.host.NeedsRequest() {
		call = s.server.host.Weigh(s.ctx, call, m)
	}
	lease, err := s.messages.Acquire(s.ctx, call)
	if err != nil {
		return s.server.notAdmitted(s.ctx, err)
	}
	s.hold(lease)
	return nil
}

// hold makes lease the one that is held, in place of the last one. If the
// handler has returned, while a goroutine of its own was still receiving, it
// gives lease back.
func (s *messageStream) hold(lease gate.Lease) {
	s.mu.Lock()
	last := s.lease
	s.lease = lease
	if s.ended {
		s.lease = gate.Lease{}
		defer lease.Release()
	}
	s.mu.Unlock()
	last.Release()
}

// end gives back what is held, for good.
func (s *messageStream) end() {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.hold(gate.Lease{})
	s.messages.End()
}
