package newer

import (
	"slices"
	"testing"

	"github.com/rpcgate/rpcgate/internal/conformance"
	"github.com/rpcgate/rpcgate/internal/conformance/connecthost"
	"github.com/rpcgate/rpcgate/internal/conformance/grpchost"
	"github.com/rpcgate/rpcgate/internal/conformance/resthost"
)

// TestConformance runs the table over the hosts that are built on libraries.
func TestConformance(t *testing.T) {
	for _, h := range slices.Concat(connecthost.All(), grpchost.All(), resthost.All()) {
		t.Run(h.Name, func(t *testing.T) {
			t.Parallel()
			conformance.Run(t, h)
		})
	}
}

func TestTheTapSendsDetails(t *testing.T) {
	if !grpchost.Tap().Carriers(conformance.Unary).Details {
		t.Error("this grpc-go is too old to test with: it sends no details from the tap")
	}
}
