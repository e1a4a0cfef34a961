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
// An interceptor sees a unary call only when its request was received and
// decoded, so that every waiting call holds a request, and a refused one has
// cost nearly as much as an answered one. Here neither has happened yet.
//
// What that means:
//
//   - The gate comes before all unary interceptors, also before those that
//     authenticate, recover from panics or log: they do not see refused calls.
//     Use an option that looks at what clients send, such as
//     interceptor.WithKeyFromHeader, with that in mind. With
//     interceptor.WithCost the request is nil; interceptor.WithSize has no effect.
//   - The span of otelgrpc's stats handler is there and is annotated, and clients
//     get the pushback trailer, as with an interceptor.
//   - The wait begins when the headers are there, not when the request is. The
//     place is held while the request is received, so a slow sender holds it.
//   - Of a request that waits, the transport holds what the client may send
//     unasked: up to 64 KiB, the least that grpc-go lets a stream's window be.
//
// Streams are gated as by [StreamServerInterceptor], after the interceptors. It
// works with and without the options of [ServerOptions]: a call that was admitted
// by one and the same Admitter (not just the same gates) is not gated again.
//
// Any number of services may be registered, also at the same time. A nil r or a,
// or an option with a bad value, is a mistake of the program and panics.
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

// method gates a generated handler, which decodes the request and then goes
// through the interceptors.
func (s *server) method(route string, next grpc.MethodHandler) grpc.MethodHandler {
	return func(
		srv any, ctx context.Context, dec func(any) error, interceptor grpc.UnaryServerInterceptor,
	) (any, error) {
		return s.admit(ctx, route, nil, func(ctx context.Context, _ any) (any, error) {
			return next(srv, ctx, dec, interceptor)
		})
	}
}
