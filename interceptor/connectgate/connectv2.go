package connectgate

import (
	"context"
	"strconv"
	"strings"

	connectv2 "connectrpc.com/connect/v2"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/internal/exchange"
	"github.com/rpcgate/rpcgate/interceptor/internal/host"
	"github.com/rpcgate/rpcgate/interceptor/internal/pace"
	"github.com/rpcgate/rpcgate/interceptor/internal/refusal"
)

// NewServerInterceptor returns an interceptor for Connect v2 that puts a in front of
// all calls of a server. It runs before a request is read. The documentation of
// [NewInterceptor] about streams, order, concurrency and panics applies to it, too.
//
// Two things need a server that httpgate.ConfigureServer has configured, or
// [NewMiddleware] in front with the same a. A client that sends the request of a unary call
// too slowly is cut off; see interceptor.WithMinRate. And over HTTP/1.1 the server notices
// that a caller leaves while its call waits, as [NewMiddleware] says.
//
// The same a may be used with both versions of Connect: they share its limit.
func NewServerInterceptor(a gate.Admitter, opts ...Option) connectv2.ServerInterceptor {
	s := &serverV2{host: host.Must(pkg, a, opts)}
	return s.intercept
}

type serverV2 struct{ host *host.Host }

func (s *serverV2) intercept(next connectv2.ServerFunc) connectv2.ServerFunc {
	return func(ctx context.Context, spec connectv2.Spec, stream connectv2.ServerStream) error {
		if s.host.Passes(ctx, spec.Procedure) {
			return s.answer(ctx, spec, next(ctx, spec, stream))
		}
		mode := gate.HoldStream
		if spec.StreamType != connectv2.StreamTypeUnary {
			mode = s.host.StreamMode(spec.Procedure)
		}
		call, header := s.call(ctx, spec)
		if mode == gate.HoldMessage {
			m := &messageStream{ServerStream: stream, server: s, messages: s.host.Messages(ctx, call, header)}
			defer m.messages.End()
			return s.answer(ctx, spec, next(m.messages.Context(), spec, m))
		}
		s.host.Describe(ctx, &call, header, nil)
		x := exchangeV2(ctx)
		pace.Listen(x, &call)
		lease, err := s.host.Acquire(ctx, &call)
		if err != nil {
			return s.refuse(ctx, spec, err)
		}
		// Deferred, so that the lease is also released if the handler panics or
		// calls runtime.Goexit.
		defer lease.Release()
		response := pace.Attached(x, lease, s.host.MinRate)
		var request *pace.Guard
		if spec.StreamType == connectv2.StreamTypeUnary { // a stream may be idle
			request = pace.GuardBody(x, lease, s.host.MinRate)
			defer request.End()
		}
		if mode == gate.HoldOpening {
			stream = &openingStream{ServerStream: stream, lease: lease}
		}
		err = next(s.host.Context(ctx, lease, &call), spec, stream)
		if request.Slow() {
			s.host.AnnotateCutOff(ctx, gate.ReasonSlowRequest)
		}
		if response.Slow() {
			s.host.AnnotateCutOff(ctx, gate.ReasonSlowResponse)
		}
		return s.answer(ctx, spec, err)
	}
}

// exchangeV2 returns the exchange of a call on a configured server, or nil. A call that a
// handler makes within the process has no address, and the exchange of its context is
// that of the handler.
func exchangeV2(ctx context.Context) *exchange.Exchange {
	if info, ok := connectv2.CallInfoForServerContext(ctx); ok && info.PeerAddr != "" {
		return exchange.From(ctx)
	}
	return nil
}

// call returns what the gate is told about a call whose request has not been read,
// without what the options say, and the header that the options look at.
func (s *serverV2) call(ctx context.Context, spec connectv2.Spec) (gate.Call, *connectv2.Header) {
	call := gate.Call{Route: spec.Procedure, Size: gate.SizeUnknown}
	if spec.Schema == nil && !registered(spec.Procedure) { // of Server.SetUnknownHandler
		call.UnknownRoute = true
		call.Route = strings.Clone(spec.Procedure) // not the whole URL
	}
	info, ok := connectv2.CallInfoForServerContext(ctx)
	if !ok {
		return call, nil // a nil Header has no values
	}
	header := info.RequestHeader()
	call.RequestID = host.RequestID(header.Get(refusal.RequestIDHeader))
	if len(s.host.TrustedProxies) > 0 {
		call.RemoteIP = s.host.RemoteIP(info.PeerAddr, header)
	} else {
		call.Caller = s
	}
	if info.Protocol == protocolConnect { // gRPC clients do not send a length
		call.Size = sizeOf(info)
	}
	return call, header
}

// sizeOf returns the size of the request's body.
func sizeOf(info *connectv2.CallInfo) int64 {
	if http, ok := info.TransportInfo.(interface{ HTTPMethod() string }); ok && http.HTTPMethod() == "GET" {
		return 0
	}
	length := info.RequestHeader().Get("Content-Length")
	if length == "" {
		return gate.SizeUnknown
	}
	size, err := strconv.ParseInt(length, 10, 64)
	if err != nil {
		return gate.SizeUnknown
	}
	return size
}

// Identify finds the address of the caller. The server is the [gate.Caller] of its
// calls, so that a call pays for it only if an observer or a refusal needs the
// address. It does not use the headers, which belong to the handler by then.
func (s *serverV2) Identify(ctx context.Context) (requestID, remoteIP string) {
	if info, ok := connectv2.CallInfoForServerContext(ctx); ok {
		remoteIP = s.host.RemoteIP(info.PeerAddr, nil)
	}
	return "", remoteIP
}

// openingStream releases its lease when the first response was sent.
type openingStream struct {
	connectv2.ServerStream
	lease  gate.Lease
	opened bool // only used by Send, which never runs concurrently with itself
}

func (s *openingStream) Send(msg any) error {
	err := s.ServerStream.Send(msg)
	if !s.opened && msg != nil { // a nil message sends only the headers
		s.opened = true
		s.lease.Release()
	}
	return err
}

// messageStream takes a lease for each message it receives.
type messageStream struct {
	connectv2.ServerStream
	server   *serverV2
	messages *host.Messages
}

func (s *messageStream) Receive(msg any) error {
	s.messages.Next()
	if err := s.ServerStream.Receive(msg); err != nil {
		return err
	}
	if err := s.messages.Admit(msg); err != nil {
		return s.server.notAdmitted(s.messages.Context(), err)
	}
	return nil
}
