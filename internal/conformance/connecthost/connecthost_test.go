package connecthost_test

import (
	"testing"

	"github.com/rpcgate/rpcgate/internal/conformance"
	"github.com/rpcgate/rpcgate/internal/conformance/connecthost"
)

func TestConformance(t *testing.T) {
	for _, h := range connecthost.All() {
		t.Run(h.Name, func(t *testing.T) {
			t.Parallel()
			conformance.Run(t, h)
		})
	}
}
