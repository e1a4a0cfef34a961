package grpcgate

import (
	"context"

	"google.golang.org/grpc"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/internal/host"
)

// TranslatorOptions returns the options that turn the rejections of all gates further
// in into refusals, of those too that interceptors acquire by themselves:
//
//	opts := grpcgate.TranslatorOptions()
//	opts = append(opts, grpc.ChainUnaryInterceptor(authenticate)) // has a gate of its own
//	opts = append(opts, grpcgate.ServerOptions(db)...)
//	server := grpc.NewServer(opts...)
//
// Put them first. Without them, only what [ServerOptions] runs is translated: handlers,
// and the interceptors after it. Clients would read the rejection of an interceptor
// before it as Unknown, and not know when to come back.
//
// The gates of these interceptors know the call from the context, so an empty Call is
// enough there:
//
//	err := authGate.Do(ctx, gate.Call{}, verify)
//
// The options that find the key or the priority of a call count for these gates. A
// refusal that has been translated further in stays as it is. TranslatorOptions panics
// if an option is nil or has a bad value.
func TranslatorOptions(opts ...Option) []grpc.ServerOption {
	t := &translator{server{host: host.MustTranslator(pkg, opts)}}
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(t.unary),
		grpc.ChainStreamInterceptor(t.stream),
	}
}

// translator is a server that admits all calls.
type translator struct{ server server }

func (t *translator) unary(
	ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler,
) (any, error) {
	resp, err := handler(t.known(ctx, info.FullMethod, req, false), req)
	return resp, t.server.answer(ctx, nil, err)
}

func (t *translator) stream(
	srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler,
) error {
	ctx := t.known(stream.Context(), info.FullMethod, nil, srv == nil)
	return t.server.answer(stream.Context(), stream, handler(srv, &heldStream{stream, ctx}))
}

func (t *translator) known(ctx context.Context, route string, req any, unknown bool) context.Context {
	call := gate.Call{Route: route, Caller: &t.server, Size: gate.SizeUnknown, UnknownRoute: unknown}
	if t.server.host.Describes() {
		t.server.describe(ctx, &call, req)
	}
	return t.server.host.Known(ctx, &call)
}
