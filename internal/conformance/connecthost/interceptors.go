package connecthost

import (
	"context"

	"connectrpc.com/connect"
	connectv2 "connectrpc.com/connect/v2"

	"github.com/rpcgate/rpcgate/interceptor/connectgate"
	"github.com/rpcgate/rpcgate/internal/conformance"
)

// InterceptorsV1 are the gate of a Connect v1 server and what is in front of it.
func InterceptorsV1(s conformance.Setup) []connect.Interceptor {
	var all []connect.Interceptor
	if s.Translated {
		all = append(all, connectgate.NewTranslator())
	}
	if s.Before != nil {
		all = append(all, beforeV1(s.Before))
	}
	return append(all, connectgate.NewInterceptor(s.Admitter, s.Options...))
}

// InterceptorsV2 is the same with Connect v2.
func InterceptorsV2(s conformance.Setup) []connectv2.ServerInterceptor {
	var all []connectv2.ServerInterceptor
	if s.Translated {
		all = append(all, connectgate.NewServerTranslator())
	}
	if s.Before != nil {
		all = append(all, func(next connectv2.ServerFunc) connectv2.ServerFunc {
			return func(ctx context.Context, spec connectv2.Spec, stream connectv2.ServerStream) error {
				if err := s.Before(ctx); err != nil {
					return err
				}
				return next(ctx, spec, stream)
			}
		})
	}
	return append(all, connectgate.NewServerInterceptor(s.Admitter, s.Options...))
}

// beforeV1 runs before each call.
type beforeV1 func(context.Context) error

func (f beforeV1) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		if err := f(ctx); err != nil {
			return nil, err
		}
		return next(ctx, req)
	}
}

func (f beforeV1) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

func (f beforeV1) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		if err := f(ctx); err != nil {
			return err
		}
		return next(ctx, conn)
	}
}
