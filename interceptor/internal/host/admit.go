package host

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/trace"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/internal/refusal"
)

// Passes reports whether the call needs no Acquire: its route is exempt, or a host
// further out has admitted it already. A call of a route that a [gate.Policy]
// exempts does not pass here. Acquire gives it the zero lease: the Policy looks for
// the route there anyway.
func (h *Host) Passes(ctx context.Context, route string) bool {
	return h.policy == nil && h.exempts(route) || gate.AdmittedBy(ctx, h.admitter)
}

// Exempts reports whether calls of the route need no lease at all. Clients go by it:
// that the server around them has admitted a call says nothing about a downstream.
func (h *Host) Exempts(route string) bool { return h.exempts(route) }

// StreamMode says how long a stream of the route holds its lease.
func (h *Host) StreamMode(route string) gate.StreamMode { return h.streamMode(route) }

// Acquire admits the call and records the decision on its span. The handler gets a
// [Host.Context].
func (h *Host) Acquire(ctx context.Context, call *gate.Call) (gate.Lease, error) {
	lease, err := h.acquire(ctx, call)
	if h.recorder != nil && trace.SpanFromContext(ctx).IsRecording() {
		h.annotate(ctx, call, lease, err)
	}
	return lease, err
}

// AcquireClient is Acquire for a gate in front of a client.
func (h *Host) AcquireClient(ctx context.Context, call *gate.Call) (gate.Lease, error) {
	lease, err := h.acquire(ctx, call)
	if h.recorder != nil {
		h.recorder.AnnotateClient(ctx, *call, lease, err)
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

// annotate is apart from Acquire, which needs no stack for a copy of the call as
// long as no span is recording.
//
//go:noinline
func (h *Host) annotate(ctx context.Context, call *gate.Call, lease gate.Lease, err error) {
	h.recorder.Annotate(ctx, *call, lease, err)
}

// Context returns the context of the handler of an admitted call, which carries the
// lease, unless that is the zero one of an exempt call.
func (h *Host) Context(ctx context.Context, lease gate.Lease) context.Context {
	if lease == (gate.Lease{}) {
		return ctx
	}
	return gate.NewContext(ctx, lease, h.admitter)
}

// RefuseEarly refuses the call if the Admitter is a [gate.EarlyRefuser] and Acquire
// would refuse it at once.
func (h *Host) RefuseEarly(ctx context.Context, call *gate.Call) error {
	if h.early == nil {
		return nil
	}
	return h.early.RefuseEarly(ctx, *call)
}

// Refusal says how the caller is told of err. It reports false if err is no
// rejection.
func (h *Host) Refusal(ctx context.Context, err error) (refusal.Refusal, bool) {
	r, ok := errors.AsType[*gate.Rejection](err)
	if !ok {
		return refusal.Refusal{}, false
	}
	return refusal.New(ctx, r, h.StateInDetails), true
}
