package grpchost_test

import (
	"testing"

	"github.com/rpcgate/rpcgate/internal/conformance"
	"github.com/rpcgate/rpcgate/internal/conformance/grpchost"
)

func TestConformance(t *testing.T) {
	for _, h := range []conformance.Host{
		grpchost.Interceptor(),
	} {
		t.Run(h.Name, func(t *testing.T) { conformance.Run(t, h) })
	}
}
