package connectgate

import (
	"context"

	"connectrpc.com/connect"
	connectv2 "connectrpc.com/connect/v2"

	"github.com/rpcgate/rpcgate/interceptor/internal/host"
)

// NewTranslator returns an interceptor for the handlers of Connect v1 that turns the
// rejections of all gates further in into refusals, of those too that interceptors
// acquire by themselves:
//
//	connect.WithInterceptors(
//		connectgate.NewTranslator(),
//		authenticate, // has a gate of its own
//		connectgate.NewInterceptor(db),
//	)
//
// Give it first. Without it, only what [NewInterceptor] runs is translated: handlers,
// and the interceptors after it. Clients would read the rejection of an interceptor
// before it as Unknown, and not know when to come back.
//
// The gates of these interceptors know the call from the context, so an empty Call is
// enough there:
//
//	err := authGate.Do(ctx, gate.Call{}, verify)
//
// The options that find the key or the priority of a call count for these gates. A
// refusal that has been translated further in stays as it is. Clients' calls pass as
// they are. NewTranslator panics if an option is nil or has a bad value.
func NewTranslator(opts ...Option) connect.Interceptor {
	return &translatorV1{interceptorV1{host: host.MustTranslator(pkg, opts)}}
}

type translatorV1 struct{ interceptor interceptorV1 }

// WrapUnary implements [connect.Interceptor].
func (t *translatorV1) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		if req.Spec().IsClient {
			return next(ctx, req)
		}
		i := &t.interceptor
		call := i.unaryCall(ctx, req.Spec().Procedure, req)
		res, err := next(i.host.Known(ctx, &call), req)
		if err != nil {
			err = i.answer(ctx, unaryResponder(ctx), err)
		}
		return res, err
	}
}

// WrapStreamingClient implements [connect.Interceptor].
func (t *translatorV1) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

// WrapStreamingHandler implements [connect.Interceptor].
func (t *translatorV1) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		i := &t.interceptor
		call := i.streamCall(conn)
		i.host.Describe(ctx, &call, conn.RequestHeader(), nil)
		return i.answer(ctx, conn, next(i.host.Known(ctx, &call), conn))
	}
}

// NewServerTranslator is [NewTranslator] for Connect v2.
func NewServerTranslator(opts ...Option) connectv2.ServerInterceptor {
	s := &serverV2{host: host.MustTranslator(pkg, opts)}
	return func(next connectv2.ServerFunc) connectv2.ServerFunc {
		return func(ctx context.Context, spec connectv2.Spec, stream connectv2.ServerStream) error {
			call, header := s.call(ctx, spec)
			s.host.Describe(ctx, &call, header, nil)
			return s.answer(ctx, spec, next(s.host.Known(ctx, &call), spec, stream))
		}
	}
}
