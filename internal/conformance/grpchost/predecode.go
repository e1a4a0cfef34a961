package grpchost

import (
	"context"
	"slices"
	"testing"

	"google.golang.org/grpc"

	"github.com/rpcgate/rpcgate/interceptor/grpcgate"
	"github.com/rpcgate/rpcgate/internal/conformance"
)

// BeforeDecode is a server without interceptors whose services are registered
// through grpcgate.BeforeDecode.
func BeforeDecode() conformance.Host {
	h := base("grpc-go before decode")
	h.BeforeDecode = true
	h.Start = func(t testing.TB, s conformance.Setup) conformance.Client {
		var options []grpc.ServerOption
		if s.Before != nil {
			options = before(s)
		}
		server := grpc.NewServer(options...)
		gated := grpcgate.BeforeDecode(recovering{server}, s.Admitter, s.Options...)
		Register(gated, s.Handler)
		return NewClient(Serve(t, server))
	}
	return h
}

// Both is a server with the gate before decode and in the interceptors.
func Both() conformance.Host {
	h := base("grpc-go before decode and interceptor")
	h.BeforeDecode = true
	h.Start = func(t testing.TB, s conformance.Setup) conformance.Client {
		server := grpc.NewServer(Interceptors(s)...)
		gated := grpcgate.BeforeDecode(recovering{server}, s.Admitter, s.Options...)
		Register(gated, s.Handler)
		return NewClient(Serve(t, server))
	}
	return h
}

// recovering recovers from panics outside of a gate before decode.
type recovering struct{ grpc.ServiceRegistrar }

func (r recovering) RegisterService(desc *grpc.ServiceDesc, impl any) {
	safe := *desc
	safe.Methods = slices.Clone(desc.Methods)
	for i, m := range safe.Methods {
		safe.Methods[i].Handler = func(
			srv any, ctx context.Context, dec func(any) error, interceptor grpc.UnaryServerInterceptor,
		) (_ any, err error) {
			defer recovered(&err)
			return m.Handler(srv, ctx, dec, interceptor)
		}
	}
	safe.Streams = slices.Clone(desc.Streams)
	for i, m := range safe.Streams {
		safe.Streams[i].Handler = func(srv any, stream grpc.ServerStream) (err error) {
			defer recovered(&err)
			return m.Handler(srv, stream)
		}
	}
	r.ServiceRegistrar.RegisterService(&safe, impl)
}
