package host

import (
	"context"
	"errors"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/internal/refusal"
)

// Passes reports whether a call needs no Acquire, because its route is exempt or a
// host further out has admitted it. It leaves exemptions by a [gate.Policy] to
// Acquire, which looks up the route anyway and returns the zero lease. If options
// describe calls, however, it does look: they are not meant for exempt calls.
func (h *Host) Passes(ctx context.Context, route string) bool {
	return (h.policy == nil || h.describes) && h.exempts(route) || gate.AdmittedBy(ctx, h.admitter)
}

// Exempts reports whether calls of the route need no lease. Clients use it instead of
// Passes: that a server has admitted a call says nothing about a downstream.
func (h *Host) Exempts(route string) bool { return h.exempts(route) }

// StreamMode returns when a stream of the route holds a lease.
func (h *Host) StreamMode(route string) gate.StreamMode { return h.streamMode(route) }

// Acquire admits a call and records the decision on its span. [Host.Context] makes the
// context of its handler.
func (h *Host) Acquire(ctx context.Context, call *gate.Call) (gate.Lease, error) {
	lease, err := h.acquire(ctx, call)
	if h.recorder != nil {
		h.recorder.Annotate(ctx, call, lease, err)
	}
	return lease, err
}

// AcquireClient is Acquire for a gate in front of a client.
func (h *Host) AcquireClient(ctx context.Context, call *gate.Call) (gate.Lease, error) {
	lease, err := h.acquire(ctx, call)
	if h.recorder != nil {
		h.recorder.AnnotateClient(ctx, call, lease, err)
	}
	return lease, err
}

func (h *Host) acquire(ctx context.Context, call *gate.Call) (gate.Lease, error) {
	switch {
	case h.gate != nil:
		return h.gate.AcquireCall(ctx, call)
	case h.policy != nil:
		return h.policy.AcquireCall(ctx, call)
	default:
		return h.admitter.Acquire(ctx, *call)
	}
}

// Context returns the context for the handler of an admitted call. It carries the
// lease, except for the zero lease of an exempt call.
func (h *Host) Context(ctx context.Context, lease gate.Lease) context.Context {
	if lease == (gate.Lease{}) {
		return ctx
	}
	return gate.NewContext(ctx, lease, h.admitter)
}

// RefuseEarly refuses a call if the Admitter is a [gate.EarlyRefuser] and Acquire
// would refuse the call without a wait.
func (h *Host) RefuseEarly(ctx context.Context, call *gate.Call) error {
	if h.early == nil {
		return nil
	}
	return h.early.RefuseEarly(ctx, *call)
}

// Refusal returns the refusal that tells the caller of err. It reports false if err is
// no rejection.
func (h *Host) Refusal(ctx context.Context, err error) (refusal.Refusal, bool) {
	r, ok := errors.AsType[*gate.Rejection](err)
	if !ok {
		return refusal.Refusal{}, false
	}
	return refusal.New(ctx, r, h.StateInDetails), true
}
