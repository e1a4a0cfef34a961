package host

import (
	"context"
	"errors"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/internal/refusal"
)

// Passes reports whether a call needs no lease from this host, because its route is
// exempt or what a host further out holds covers it. Acquire returns the zero lease
// for such a call, so only a host that does more than acquire has to ask.
func (h *Host) Passes(ctx context.Context, route string) bool {
	return h.exempts(route) || gate.Covers(ctx, h.admitter, route)
}

// Exempts reports whether calls of the route need no lease. Clients use it instead of
// Passes: that a server has admitted a call says nothing about a downstream.
func (h *Host) Exempts(route string) bool { return h.exempts(route) }

// ExemptsProbe reports whether a GET or HEAD request of the path is a probe that passes.
// It is for hosts of plain HTTP.
func (h *Host) ExemptsProbe(path string) bool { return h.exemptsProbe(path) }

// StreamMode returns when a stream of the route holds a lease.
func (h *Host) StreamMode(route string) gate.StreamMode { return h.streamMode(route) }

// Acquire admits a call and records the decision on its span. [Host.Context] makes the
// context of its handler. For a call that [Host.Passes] the lease is the zero one.
func (h *Host) Acquire(ctx context.Context, call *gate.Call) (gate.Lease, error) {
	if h.policy == nil && h.exempts(call.Route) {
		return gate.Lease{}, nil
	}
	lease, err := gate.Enter(ctx, h.admitter, call)
	if h.recorder != nil {
		h.annotate(ctx, call, lease, err, false)
	}
	return lease, err
}

// AcquireClient is Acquire for a gate in front of a client.
func (h *Host) AcquireClient(ctx context.Context, call *gate.Call) (gate.Lease, error) {
	lease, err := gate.AcquireCall(ctx, h.admitter, call)
	if h.recorder != nil {
		h.annotate(ctx, call, lease, err, true)
	}
	return lease, err
}

// annotate records a decision. If that panics in somebody's span processor, it releases
// the lease, which nobody else knows yet.
func (h *Host) annotate(ctx context.Context, call *gate.Call, lease gate.Lease, err error, client bool) {
	done := false
	defer func() {
		if !done {
			lease.Release()
		}
	}()
	if client {
		h.recorder.AnnotateClient(ctx, call, lease, err)
	} else {
		h.recorder.Annotate(ctx, call, lease, err)
	}
	done = true
}

// Context returns the context for the handler of an admitted call. It carries the
// lease, except for the zero lease of an exempt call.
func (h *Host) Context(ctx context.Context, lease gate.Lease, call *gate.Call) context.Context {
	if lease == (gate.Lease{}) {
		return ctx
	}
	return gate.NewContext(ctx, lease, h.admitter, call)
}

// AnnotateCutOff notes on the span that the host has cut off a call. ctx is the one that
// the call was acquired with. See [gate.Lease.CutOff], which may be called on another
// goroutine before: a panic in somebody's span processor must not happen there.
func (h *Host) AnnotateCutOff(ctx context.Context, reason gate.Reason) {
	if h.recorder != nil {
		h.recorder.AnnotateCutOff(ctx, reason)
	}
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
