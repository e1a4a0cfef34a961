package hosts_test

import (
	"testing"

	"github.com/rpcgate/rpcgate/internal/conformance"
	"github.com/rpcgate/rpcgate/internal/conformance/connecthost"
	"github.com/rpcgate/rpcgate/internal/conformance/grpchost"
	"github.com/rpcgate/rpcgate/internal/conformance/httphost"
	"github.com/rpcgate/rpcgate/internal/conformance/resthost"
	"github.com/rpcgate/rpcgate/internal/soak/hosts"
)

// A short stress of a host of each kind, in which each client makes its fewest calls. The longer one, over all hosts, is
// that of internal/soak.
func TestHostsUnderStress(t *testing.T) {
	counts, err := hosts.Run(t, hosts.Options{Seed: 1, AtOnce: 2, Hosts: []conformance.Host{
		grpchost.Both(), grpchost.ServeHTTP(),
		connecthost.MiddlewareV1(connecthost.Connect), hosts.Configured(connecthost.V2(connecthost.GRPC)),
		resthost.Gateway(), hosts.Configured(httphost.Middleware()),
	}})
	if err != nil {
		t.Error(err)
	}
	t.Log(counts)
}
