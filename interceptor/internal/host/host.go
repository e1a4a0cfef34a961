package host

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/internal/refusal"
	"github.com/rpcgate/rpcgate/interceptor/otelgate"
)

// Host is an Admitter as an interceptor uses it. It is safe for concurrent use.
type Host struct {
	Config
	admitter gate.Admitter
	recorder *otelgate.Recorder // nil: without telemetry
	isPolicy bool

	exempts    func(route string) bool
	streamMode func(route string) gate.StreamMode
}

// Must makes the Host of an interceptor, for which pkg stands in messages.
// Mistakes of the program panic: a nil Admitter, or an option with a bad value.
func Must(pkg string, a gate.Admitter, opts []Option) *Host {
	h, err := newHost(a, opts)
	if err != nil {
		panic(fmt.Sprintf("%s: %v", pkg, err))
	}
	return h
}

func newHost(a gate.Admitter, opts []Option) (*Host, error) {
	if g, isGate := a.(*gate.Gate); a == nil || isGate && g == nil {
		return nil, errors.New("the gate is nil")
	}
	p, isPolicy := a.(*gate.Policy)
	if isPolicy && p == nil {
		return nil, errors.New("the policy is nil")
	}
	c, err := newConfig(opts)
	if err != nil {
		return nil, err
	}
	h := &Host{Config: c, admitter: a, isPolicy: isPolicy, exempts: exemptByDefault}
	h.streamMode = func(string) gate.StreamMode { return gate.HoldStream }
	if r, ok := a.(interface{ Exempts(route string) bool }); ok {
		h.exempts = r.Exempts
	}
	if r, ok := a.(interface {
		StreamMode(route string) gate.StreamMode
	}); ok {
		h.streamMode = r.StreamMode
	}
	if !c.WithoutTelemetry {
		h.recorder = newRecorder(a, c)
	}
	return h, nil
}

// newRecorder attaches telemetry. A failure to do so goes where OpenTelemetry's
// own errors go: it is no reason not to serve.
func newRecorder(a gate.Admitter, c Config) *otelgate.Recorder {
	var opts []otelgate.Option
	if c.MeterProvider != nil {
		opts = append(opts, otelgate.WithMeterProvider(c.MeterProvider))
	}
	if c.TracerProvider != nil {
		opts = append(opts, otelgate.WithTracerProvider(c.TracerProvider))
	}
	r, err := otelgate.NewRecorder(a, opts...)
	if err != nil {
		otel.Handle(err)
		return nil
	}
	return r
}

// exemptByDefault is what is exempt at an Admitter that has no say in it, such
// as a single gate: the same as with a Policy.
func exemptByDefault(route string) bool {
	return strings.HasPrefix(route, "/grpc.health.v1.Health/") || strings.HasPrefix(route, "/grpc.reflection.")
}

// Passes reports whether the call needs no lease from this host: its route is
// exempt, or a host further out has admitted it already.
func (h *Host) Passes(ctx context.Context, route string) bool {
	return h.exempts(route) || gate.AdmittedBy(ctx, h.admitter)
}

// PassesAcquire is Passes for hosts that go on to Acquire and need not know: a
// Policy looks for the route there anyway, and gives the zero lease if it is
// exempt.
func (h *Host) PassesAcquire(ctx context.Context, route string) bool {
	return !h.isPolicy && h.exempts(route) || gate.AdmittedBy(ctx, h.admitter)
}

// Exempts reports whether calls of the route need no lease at all. Clients go by
// it: that the server around them was admitted says nothing about a downstream.
func (h *Host) Exempts(route string) bool { return h.exempts(route) }

// StreamMode says when a stream of the route holds its place.
func (h *Host) StreamMode(route string) gate.StreamMode { return h.streamMode(route) }

// Acquire admits the call and records the decision on its span. On success the
// returned context, which is the handler's, carries the lease, unless that is
// the zero one of an exempt call.
func (h *Host) Acquire(ctx context.Context, call gate.Call) (context.Context, gate.Lease, error) {
	lease, err := h.admitter.Acquire(ctx, call) // as Admit does, without copies of call
	if h.recorder != nil && trace.SpanFromContext(ctx).IsRecording() {
		h.recorder.Annotate(ctx, call, lease, err)
	}
	if err != nil || lease == (gate.Lease{}) {
		return ctx, gate.Lease{}, err
	}
	return gate.NewContext(ctx, lease, h.admitter), lease, nil
}

// Admit is Acquire for hosts whose handler has another context, or none: that of
// the handler is made by Carry.
func (h *Host) Admit(ctx context.Context, call gate.Call) (gate.Lease, error) {
	lease, err := h.admitter.Acquire(ctx, call)
	if h.recorder != nil {
		h.recorder.Annotate(ctx, call, lease, err)
	}
	return lease, err
}

// AdmitClient is Admit for a gate in front of a client.
func (h *Host) AdmitClient(ctx context.Context, call gate.Call) (gate.Lease, error) {
	lease, err := h.admitter.Acquire(ctx, call)
	if h.recorder != nil {
		h.recorder.AnnotateClient(ctx, call, lease, err)
	}
	return lease, err
}

// Carry returns a context that carries the lease.
func (h *Host) Carry(ctx context.Context, lease gate.Lease) context.Context {
	return gate.NewContext(ctx, lease, h.admitter)
}

// RefuseEarly refuses the call if Acquire would do so at once; see
// [gate.Gate.RefuseEarly]. An Admitter without that method never does.
func (h *Host) RefuseEarly(ctx context.Context, call gate.Call) error {
	e, ok := h.admitter.(interface {
		RefuseEarly(ctx context.Context, call gate.Call) error
	})
	if !ok {
		return nil
	}
	return e.RefuseEarly(ctx, call)
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
