package grpcgate

import (
	"context"

	"google.golang.org/grpc"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/internal/host"
)

// ServerOptions returns the options that put a in front of all calls of a server,
// unary and streaming. They are chained interceptors and can be combined with
// others. The interceptors of earlier options, and of grpc.UnaryInterceptor, run
// before the gate, later ones after a call was admitted.
//
// Put the gate before everything expensive, and after what must see every call, such
// as recovery, logging or authentication. If one of these has a gate of its own, put
// [TranslatorOptions] first. The function panics if a is nil or an
// option has a bad value.
func ServerOptions(a gate.Admitter, opts ...Option) []grpc.ServerOption {
	s := newServer(a, opts)
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(s.unary),
		grpc.ChainStreamInterceptor(s.stream),
	}
}

// UnaryServerInterceptor returns the interceptor for unary calls that
// [ServerOptions] installs. It shares the limit of a with a
// [StreamServerInterceptor] that has the same a.
func UnaryServerInterceptor(a gate.Admitter, opts ...Option) grpc.UnaryServerInterceptor {
	return newServer(a, opts).unary
}

// StreamServerInterceptor returns the interceptor for streams that
// [ServerOptions] installs. The [gate.StreamMode] of its route says when a stream
// holds a lease:
//
//   - HoldStream, the default: from its beginning to its end. A refused stream is
//     refused before any of its messages is read.
//   - HoldOpening: from its beginning until the first response message was sent, or
//     could not be sent.
//   - HoldMessage: one lease per message, from its arrival until the handler asks
//     for the next one or returns. An idle stream holds nothing, and neither does a
//     handler after it got io.EOF. If a message is refused, RecvMsg fills it in and
//     returns the refusal as its error. The handler may return that error, which
//     ends the stream, or tell its client in a message and call RecvMsg again.
//     [gate.LeaseFromContext] has nothing to release in this mode. The span tells of
//     the first refused message, or else of the one that waited longest. Metrics and
//     logs count all messages.
func StreamServerInterceptor(a gate.Admitter, opts ...Option) grpc.StreamServerInterceptor {
	return newServer(a, opts).stream
}

// server is a gate as the interceptors of a server use it.
type server struct{ host *host.Host }

func newServer(a gate.Admitter, opts []Option) *server {
	return &server{host: host.Must(pkg, a, opts)}
}

func (s *server) unary(
	ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler,
) (any, error) {
	return s.admit(ctx, info.FullMethod, req, handler)
}

// admit runs a handler for one request once the gate has admitted it.
func (s *server) admit(ctx context.Context, route string, req any, handler grpc.UnaryHandler) (any, error) {
	admitted, lease, err := s.acquire(ctx, route, req)
	if err != nil {
		return nil, s.refuse(ctx, nil, err)
	}
	return s.serve(admitted, lease, req, handler)
}

// acquire, serve and describe are not inlined. So the stack of a call that waits holds
// nothing for the handler, and the stack of the handler holds no gate.Call.
//
//go:noinline
func (s *server) acquire(ctx context.Context, route string, req any) (context.Context, gate.Lease, error) {
	call := gate.Call{Route: route, Caller: s, Size: gate.SizeUnknown}
	if s.host.Describes() {
		if s.host.Exempts(route) { // options do not see exempt calls
			return ctx, gate.Lease{}, nil
		}
		s.describe(ctx, &call, req)
	}
	lease, err := s.host.Acquire(ctx, &call)
	if err != nil {
		return nil, lease, err
	}
	return s.host.Context(ctx, lease, &call), lease, nil
}

//go:noinline
func (s *server) serve(ctx context.Context, lease gate.Lease, req any, handler grpc.UnaryHandler) (any, error) {
	// Deferred, so that the lease is also released if the handler panics or calls
	// runtime.Goexit.
	defer lease.Release()
	resp, err := handler(ctx, req)
	return resp, s.answer(ctx, nil, err)
}

func (s *server) stream(
	srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler,
) error {
	ctx := stream.Context()
	if s.host.Passes(ctx, info.FullMethod) {
		return s.answer(ctx, stream, handler(srv, stream))
	}
	call := gate.Call{Route: info.FullMethod, Caller: s, Size: gate.SizeUnknown}
	call.UnknownRoute = srv == nil // grpc.UnknownServiceHandler
	mode := s.host.StreamMode(info.FullMethod)
	if mode == gate.HoldMessage {
		m := &messageStream{ServerStream: stream, server: s, messages: s.host.Messages(ctx, call, incoming{ctx})}
		defer m.messages.End()
		return s.answer(ctx, stream, handler(srv, m))
	}
	if s.host.Describes() {
		s.describe(ctx, &call, nil)
	}
	lease, err := s.host.Acquire(ctx, &call)
	if err != nil {
		return s.refuse(ctx, stream, err)
	}
	defer lease.Release()
	held := heldStream{stream, s.host.Context(ctx, lease, &call)}
	if mode == gate.HoldOpening {
		return s.answer(ctx, stream, handler(srv, &openingStream{heldStream: held, lease: lease}))
	}
	return s.answer(ctx, stream, handler(srv, &held))
}
