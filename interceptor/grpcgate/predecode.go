package grpcgate

import (
	"context"
	"errors"
	"slices"

	"google.golang.org/grpc"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/internal/host"
	"github.com/rpcgate/rpcgate/interceptor/internal/mistake"
)

// BeforeDecode returns a registrar that gates the calls of the services that are
// registered on it before their message is read:
//
//	orderspb.RegisterOrderServiceServer(grpcgate.BeforeDecode(server, db), orders)
//
// An interceptor sees a unary call only after its request was received and decoded.
// So every waiting call holds a request, and a refused call has cost nearly as much
// as an answered one. BeforeDecode decides before that. The consequences are:
//
//   - The gate comes before all unary interceptors, including those that
//     authenticate, recover from panics or write logs. They do not see refused
//     calls. Keep that in mind if an option looks at what clients send, as
//     interceptor.WithKeyFromHeader does. The function of interceptor.WithCost gets
//     a nil request, and interceptor.WithSize has no effect: no size is known, so that
//     interceptor.WithUnknownSize counts.
//   - The span of otelgrpc's stats handler exists and is annotated, and clients get
//     the pushback trailer, as with an interceptor.
//   - The wait begins when the headers have arrived, and the lease is held while the
//     request is received. A client that takes too long for that is cut off with
//     DeadlineExceeded; see interceptor.WithMinRate. Here only the complete message can
//     be seen, so its size is taken to be what interceptor.WithUnknownSize says, by
//     default 64 KiB: at 1 KiB per second after 5 s, each message has 69 s to arrive. If
//     clients send much larger ones over slow networks, set that size or the rate.
//   - While a call waits, the transport holds as much of its request as the client
//     may send unasked: 64 KiB with [BoundedWindows], up to 16 MiB without.
//
// The last two are so with grpc-go 1.84 or later. Earlier versions receive the request
// before they call what BeforeDecode registers: then a slow sender holds no lease, but a
// waiting call holds its whole request in memory, and only decoding is saved.
//
// Streams are gated as by [StreamServerInterceptor], after the interceptors.
// BeforeDecode may be combined with [ServerOptions]: a call that holds the gates of
// its route already is not gated again.
//
// Services may be registered by several goroutines at once. BeforeDecode panics if r
// or a is nil or an option has a bad value.
func BeforeDecode(r grpc.ServiceRegistrar, a gate.Admitter, opts ...Option) grpc.ServiceRegistrar {
	h, err := host.New(a, opts)
	if r == nil {
		err = errors.Join(mistake.Nil("BeforeDecode", "a registrar"), err)
	}
	mistake.Panic(pkg, err)
	return &registrar{next: r, server: &server{host: h}}
}

type registrar struct {
	next   grpc.ServiceRegistrar
	server *server
}

// RegisterService registers the service with handlers that are gated.
func (r *registrar) RegisterService(desc *grpc.ServiceDesc, impl any) {
	gated := *desc
	gated.Methods = slices.Clone(desc.Methods)
	for i, m := range gated.Methods {
		gated.Methods[i].Handler = r.server.method("/"+desc.ServiceName+"/"+m.MethodName, m.Handler)
	}
	gated.Streams = slices.Clone(desc.Streams)
	for i, m := range gated.Streams {
		info := &grpc.StreamServerInfo{
			FullMethod:     "/" + desc.ServiceName + "/" + m.StreamName,
			IsClientStream: m.ClientStreams, IsServerStream: m.ServerStreams,
		}
		gated.Streams[i].Handler = func(srv any, stream grpc.ServerStream) error {
			return r.server.stream(srv, stream, info, m.Handler)
		}
	}
	r.next.RegisterService(&gated, impl)
}

// method gates a generated handler, which decodes the request and then runs the
// interceptors.
func (s *server) method(route string, next grpc.MethodHandler) grpc.MethodHandler {
	return func(
		srv any, ctx context.Context, dec func(any) error, interceptor grpc.UnaryServerInterceptor,
	) (any, error) {
		admitted, lease, err := s.acquire(ctx, route, nil)
		if err != nil {
			return nil, s.refuse(ctx, nil, err)
		}
		return s.serve(admitted, lease, nil, func(admitted context.Context, _ any) (any, error) {
			return next(srv, admitted, s.inTime(ctx, lease, dec), interceptor)
		})
	}
}
