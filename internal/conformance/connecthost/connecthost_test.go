package connecthost_test

import (
	"testing"

	"github.com/rpcgate/rpcgate/internal/conformance"
	"github.com/rpcgate/rpcgate/internal/conformance/connecthost"
)

func TestConformance(t *testing.T) {
	var hosts []conformance.Host
	for _, p := range []connecthost.Protocol{connecthost.Connect, connecthost.GRPC, connecthost.GRPCWeb} {
		hosts = append(hosts, connecthost.V1(p), connecthost.V2(p), connecthost.MiddlewareV1(p), connecthost.MiddlewareV2(p))
	}
	for _, h := range hosts {
		t.Run(h.Name, func(t *testing.T) {
			t.Parallel()
			conformance.Run(t, h)
		})
	}
}
