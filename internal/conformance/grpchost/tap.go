package grpchost

import (
	"fmt"
	"testing"

	"google.golang.org/grpc"

	"github.com/rpcgate/rpcgate/interceptor/grpcgate"
	"github.com/rpcgate/rpcgate/internal/conformance"
)

// Tap is a server with the interceptors that refuses what it can at the tap,
// which cannot set the pushback trailer, and details only in newer releases.
func Tap() conformance.Host {
	h := base("grpc-go tap and interceptor")
	h.BeforeDecode = true
	if !tapSendsDetails() {
		h.Lacks["DrainingTellsAttemptsInTurnTheShortestDelay"] = "grpc-go drops the details, which have the delay"
	}
	h.Carriers = func(conformance.Shape) conformance.Carriers {
		return conformance.Carriers{Code: true, Details: tapSendsDetails(), Message: true}
	}
	h.Start = func(t testing.TB, s conformance.Setup) conformance.Client {
		tap := grpc.InTapHandle(grpcgate.TapHandle(s.Admitter, s.Options...))
		server := grpc.NewServer(append(Interceptors(s), tap)...)
		Register(server, s.Handler)
		return NewClient(Serve(t, server))
	}
	return h
}

// tapSendsDetails reports whether grpc-go sends the details of an error from the
// tap. Up to 1.84 it drops them.
func tapSendsDetails() bool {
	var minor int
	_, err := fmt.Sscanf(grpc.Version, "1.%d.", &minor)
	return err != nil || minor >= 85
}
