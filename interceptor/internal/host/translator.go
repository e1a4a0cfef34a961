package host

import (
	"context"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/internal/mistake"
)

// MustTranslator makes the Host of a constructor in package pkg that gates nothing: it
// only tells clients of the rejections of others. It calls [mistake.Panic] if an option
// has a bad value.
func MustTranslator[O Option](pkg string, opts []O) *Host {
	c, err := newConfig(opts)
	mistake.Panic(pkg, err)
	p, _ := gate.NewPolicy(gate.Exempt("*")) // which is no mistake
	return &Host{
		Config: c, admitter: p, policy: p, describes: c.describes(), exempts: p.Exempts, exemptsProbe: p.ExemptsProbe, streamMode: holdStream,
	}
}

// Known returns the context for what a translator runs: gates that are acquired there
// know the call, although no host has admitted it.
func (h *Host) Known(ctx context.Context, call *gate.Call) context.Context {
	return gate.NewContext(ctx, gate.Lease{}, h.admitter, call)
}
