package grpchost

import (
	"testing"

	"google.golang.org/grpc"

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
		Register(server, s.Handler)
		return NewClient(Serve(t, server))
	}
	return h
}
