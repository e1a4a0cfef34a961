package grpchost_test

import (
	"testing"

	"github.com/rpcgate/rpcgate/internal/conformance"
	"github.com/rpcgate/rpcgate/internal/conformance/grpchost"
)

func TestConformance(t *testing.T) {
	for _, h := range grpchost.All() {
		t.Run(h.Name, func(t *testing.T) {
			t.Parallel()
			conformance.Run(t, h)
		})
	}
}
