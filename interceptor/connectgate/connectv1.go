package connectgate

import (
	"context"
	"net/http"

	"connectrpc.com/connect"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/internal/host"
	"github.com/rpcgate/rpcgate/interceptor/internal/refusal"
)

// NewInterceptor returns an interceptor for Connect v1 that puts a in front of
// the calls of a handler or, as a gate for a downstream, of a client. Both use
// the limit of a, as do all others that were made with it.
//
// In a handler it gates unary calls and streams. A unary call is gated after its
// request was read and decoded: [NewMiddleware] does that before. When a stream
// holds its place is up to the [gate.StreamMode] of its route:
//
//   - HoldStream, the default: from its beginning to its end. A stream that is
//     refused is refused before a message of it is read.
//   - HoldOpening: until the first response message was sent.
//   - HoldMessage: from when a message was received until the handler asks for
//     the next one or returns, so an idle stream holds nothing, and neither does
//     what a handler does after it got io.EOF. A message that is refused has been
//     read: Receive fills it in and returns the refusal. A handler that returns
//     this error ends the stream with it. [gate.LeaseFromContext] has nothing to
//     release in this mode.
//
// In a client a refused call is not sent. Its error has the code that a server
// would have sent, with the text "client busy"; [IsLocal] tells it from a
// server's. A handler that returns it tells its own client "server busy". A stream
// holds its place until it has ended, be it that Receive has returned an error or
// the one response there is, that CloseResponse was called or that its context has
// ended. Who loses interest in a stream before that must do one of the last two,
// or the place is lost. With HoldOpening it holds it until the first response was
// received; HoldMessage is HoldStream there. Routes that are exempt for servers are
// exempt for clients, too.
//
// Put it before what is expensive and after what must see every call, such as
// tracing (otelconnect), recovery or authentication: connect.WithInterceptors
// runs what stands further left first. The interceptor is safe for concurrent
// use. A nil a or an option with a bad value is a mistake of the program and
// panics.
func NewInterceptor(a gate.Admitter, opts ...Option) connect.Interceptor {
	return &interceptorV1{host: host.Must(pkg, a, opts)}
}

type interceptorV1 struct{ host *host.Host }

// WrapUnary implements [connect.Interceptor].
func (i *interceptorV1) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		spec := req.Spec()
		if spec.IsClient {
			return i.unaryClient(ctx, req, next)
		}
		if i.host.Passes(ctx, spec.Procedure) {
			res, err := next(ctx, req)
			if err != nil {
				err = i.answer(ctx, unaryResponder(ctx), err)
			}
			return res, err
		}
		call := i.unaryCall(ctx, spec.Procedure, req)
		lease, err := i.host.Acquire(ctx, &call)
		if err != nil {
			return nil, i.refuse(ctx, unaryResponder(ctx), err)
		}
		// Deferred, so that a panic or a runtime.Goexit of the handler gives
		// the lease back, too.
		defer lease.Release()
		res, err := next(i.host.Context(ctx, lease), req)
		if err != nil {
			err = i.answer(ctx, unaryResponder(ctx), err)
		}
		return res, err
	}
}

// WrapStreamingHandler implements [connect.Interceptor].
func (i *interceptorV1) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		route := conn.Spec().Procedure
		if i.host.Passes(ctx, route) {
			return i.answer(ctx, conn, next(ctx, conn))
		}
		header := conn.RequestHeader()
		call := gate.Call{
			Route: route, RequestID: requestID(header),
			// Identify cannot find it: the context of a stream has nothing yet to look at.
			RemoteIP: i.host.RemoteIP(conn.Peer().Addr, header),
		}
		mode := i.host.StreamMode(route)
		if mode == gate.HoldMessage {
			m := &messageConn{StreamingHandlerConn: conn, interceptor: i, messages: i.host.Messages(ctx, call, header)}
			defer m.messages.End()
			return i.answer(ctx, conn, next(m.messages.Context(), m))
		}
		i.host.Describe(ctx, &call, header, nil)
		lease, err := i.host.Acquire(ctx, &call)
		if err != nil {
			return i.refuse(ctx, conn, err)
		}
		defer lease.Release()
		served := conn
		if mode == gate.HoldOpening {
			served = &openingConn{StreamingHandlerConn: conn, lease: lease}
		}
		return i.answer(ctx, conn, next(i.host.Context(ctx, lease), served))
	}
}

// unaryCall is what the gate is told about a unary call.
func (i *interceptorV1) unaryCall(ctx context.Context, route string, req connect.AnyRequest) gate.Call {
	header := req.Header()
	call := gate.Call{Route: route, RequestID: requestID(header)}
	if len(i.host.TrustedProxies) > 0 {
		call.RemoteIP = i.host.RemoteIP(req.Peer().Addr, header)
	} else {
		call.Caller = i
	}
	i.host.Describe(ctx, &call, header, req.Any())
	return call
}

// Identify finds the address of the caller. It makes the interceptor the
// gate.Caller of its unary calls, so that only those that somebody looks at pay
// for it. It does not look at the headers, which are the handler's by then.
func (i *interceptorV1) Identify(ctx context.Context) (requestID, remoteIP string) {
	if info, ok := connect.CallInfoForHandlerContext(ctx); ok {
		remoteIP = i.host.RemoteIP(info.Peer().Addr, nil)
	}
	return "", remoteIP
}

// requestID is the client's id of a request.
func requestID(header http.Header) string {
	return host.RequestID(first(header, refusal.RequestIDHeader))
}
