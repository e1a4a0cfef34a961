package grpchost

import (
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	testv1 "github.com/rpcgate/rpcgate/gen/rpcgate/test/v1"
	"github.com/rpcgate/rpcgate/interceptor/grpcgate"
	"github.com/rpcgate/rpcgate/internal/conformance"
)

// Tap is a server with the interceptors that refuses what it can at the tap,
// which cannot set the pushback trailer.
func Tap() conformance.Host {
	h := base("grpc-go tap and interceptor")
	h.BeforeDecode = true
	h.Carriers = func(conformance.Shape) conformance.Carriers {
		return conformance.Carriers{Code: true, Details: true, Message: true}
	}
	h.Start = func(t testing.TB, s conformance.Setup) conformance.Client {
		options := append(Recovery(), grpcgate.ServerOptions(s.Admitter, s.Options...)...)
		options = append(options, grpc.InTapHandle(grpcgate.TapHandle(s.Admitter, s.Options...)))
		server := grpc.NewServer(options...)
		testv1.RegisterEchoServiceServer(server, Service{Handler: s.Handler})
		grpc_health_v1.RegisterHealthServer(server, health.NewServer())
		return NewClient(Serve(t, server))
	}
	return h
}
