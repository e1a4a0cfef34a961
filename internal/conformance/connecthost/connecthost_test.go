package connecthost_test

import (
	"testing"

	"github.com/rpcgate/rpcgate/internal/conformance"
	"github.com/rpcgate/rpcgate/internal/conformance/connecthost"
)

func TestConformance(t *testing.T) {
	for _, host := range []func(connecthost.Protocol) conformance.Host{
		connecthost.V1, connecthost.V2, connecthost.MiddlewareV1, connecthost.MiddlewareV2,
	} {
		for _, p := range []connecthost.Protocol{connecthost.Connect, connecthost.GRPC, connecthost.GRPCWeb} {
			h := host(p)
			t.Run(h.Name, func(t *testing.T) { conformance.Run(t, h) })
		}
	}
}
