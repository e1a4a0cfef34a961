package resthost_test

import (
	"testing"

	"github.com/rpcgate/rpcgate/internal/conformance"
	"github.com/rpcgate/rpcgate/internal/conformance/resthost"
)

func TestConformance(t *testing.T) {
	for _, h := range resthost.All() {
		t.Run(h.Name, func(t *testing.T) {
			t.Parallel()
			conformance.Run(t, h)
		})
	}
}
