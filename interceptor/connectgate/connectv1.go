package connectgate

import (
	"context"
	"net/http"

	"connectrpc.com/connect"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/internal/exchange"
	"github.com/rpcgate/rpcgate/interceptor/internal/host"
	"github.com/rpcgate/rpcgate/interceptor/internal/pace"
	"github.com/rpcgate/rpcgate/interceptor/internal/refusal"
)

// NewInterceptor returns an interceptor for Connect v1 that puts a in front of the
// calls of a handler, or of a client as the gate of a downstream. All interceptors
// with the same a share its limit.
//
// In a handler, a unary call is gated after its request was read and decoded;
// [NewMiddleware] gates it before. The [gate.StreamMode] of its route says when a
// stream holds a lease:
//
//   - HoldStream, the default: from its beginning to its end. A refused stream is
//     refused before any of its messages is read.
//   - HoldOpening: from its beginning until the first response message was sent, or
//     could not be sent. A message of nil, which sends only headers, does not count.
//   - HoldMessage: one lease per message, from its arrival until the handler asks
//     for the next one or returns. An idle stream holds nothing, and neither does a
//     handler after it got io.EOF. If a message is refused, Receive fills it in and
//     returns the refusal as its error. The handler may return that error, which
//     ends the stream. In a bidirectional stream it may also tell its client in a
//     message and call Receive again. [gate.LeaseFromContext] has nothing to release
//     in this mode.
//
// In a client, a refused call is not sent. Its error has the code that a server
// would send, with the text "client busy". [IsLocal] tells it from a server's error.
// If a handler returns it, its own client is told "server busy". A stream holds its
// lease until Receive returns an error or the only response, CloseResponse is called,
// or its context ends. If you stop using a stream earlier, call CloseResponse or
// cancel the context, or the lease is never released. With HoldOpening a stream holds
// its lease until the first response was received; HoldMessage means HoldStream.
// Routes that are exempt on servers are exempt on clients, too.
//
// Put the interceptor before everything expensive, and after what must see every
// call, such as tracing (otelconnect), recovery or authentication. If one of these has a
// gate of its own, put [NewTranslator] first. The first one given to
// connect.WithInterceptors runs first. The interceptor is safe for concurrent use.
// NewInterceptor panics if a is nil or an option has a bad value.
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
		// Deferred, so that the lease is also released if the handler panics or
		// calls runtime.Goexit.
		defer lease.Release()
		res, err := next(i.host.Context(ctx, lease, &call), req)
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
		call, header := i.streamCall(conn), conn.RequestHeader()
		mode := i.host.StreamMode(route)
		if mode == gate.HoldMessage {
			m := &messageConn{StreamingHandlerConn: conn, interceptor: i, messages: i.host.Messages(ctx, call, header)}
			defer m.messages.End()
			return i.answer(ctx, conn, next(m.messages.Context(), m))
		}
		i.host.Describe(ctx, &call, header, nil)
		x := exchange.From(ctx)
		pace.Listen(x, &call)
		lease, err := i.host.Acquire(ctx, &call)
		if err != nil {
			return i.refuse(ctx, conn, err)
		}
		defer lease.Release()
		response := pace.Attached(x, lease, i.host.MinRate)
		served := conn
		if mode == gate.HoldOpening {
			served = &openingConn{StreamingHandlerConn: conn, lease: lease}
		}
		err = next(i.host.Context(ctx, lease, &call), served)
		if response.Slow() {
			i.host.AnnotateCutOff(ctx, gate.ReasonSlowResponse)
		}
		return i.answer(ctx, conn, err)
	}
}

// unaryCall is what the gate is told about a unary call.
func (i *interceptorV1) unaryCall(ctx context.Context, route string, req connect.AnyRequest) gate.Call {
	header := req.Header()
	call := gate.Call{Route: route, RequestID: requestID(header), Size: gate.SizeUnknown}
	if len(i.host.TrustedProxies) > 0 {
		call.RemoteIP = i.host.RemoteIP(req.Peer().Addr, header)
	} else {
		call.Caller = i
	}
	i.host.Describe(ctx, &call, header, req.Any())
	return call
}

// streamCall is what the gate is told about a stream, without what the options say.
func (i *interceptorV1) streamCall(conn connect.StreamingHandlerConn) gate.Call {
	header := conn.RequestHeader()
	return gate.Call{
		Route: conn.Spec().Procedure, RequestID: requestID(header), Size: gate.SizeUnknown,
		// Identify cannot find it in the context of a stream.
		RemoteIP: i.host.RemoteIP(conn.Peer().Addr, header),
	}
}

// Identify finds the address of the caller. The interceptor is the [gate.Caller] of
// its unary calls, so that a call pays for it only if an observer or a refusal needs
// the address. It does not use the headers, which belong to the handler by then.
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
