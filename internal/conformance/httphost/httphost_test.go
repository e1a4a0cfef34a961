package httphost_test

import (
	"testing"

	"github.com/rpcgate/rpcgate/internal/conformance"
	"github.com/rpcgate/rpcgate/internal/conformance/httphost"
)

func TestConformance(t *testing.T) {
	h := httphost.Middleware()
	t.Run(h.Name, func(t *testing.T) { conformance.Run(t, h) })
}
