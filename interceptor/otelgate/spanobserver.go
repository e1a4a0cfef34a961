package otelgate

import (
	"context"
	"sync/atomic"

	"go.opentelemetry.io/otel/trace"

	"github.com/rpcgate/rpcgate/gate"
)

// spanObserver annotates the spans of calls with what only the gate knows. A
// gate has one at most.
//
// Always these are the calls that went away while they waited: the error of
// their Acquire says neither where nor how long. If bare is set these are all
// calls, since nobody else may do it.
type spanObserver struct {
	bare    atomic.Bool
	tracers atomic.Pointer[trace.TracerProvider] // nil: that of the current span

	// first is the one that the gate had already. Same sets it.
	first *spanObserver
}

// observeSpans returns the gate's spanObserver, which it adds if need be.
func observeSpans(g *gate.Gate, tracers trace.TracerProvider) *spanObserver {
	s := &spanObserver{}
	if !g.Observe(s) {
		s = s.first
	}
	if tracers != nil {
		s.tracers.CompareAndSwap(nil, &tracers)
	}
	return s
}

// Same is true of all spanObservers. This is how the one that a gate has makes
// itself known to the one that was to be added.
func (s *spanObserver) Same(o gate.Observer) bool {
	other, ok := o.(*spanObserver)
	if ok {
		other.first = s
	}
	return ok
}

// Enabled reports whether every call is to be told of.
func (s *spanObserver) Enabled(ctx context.Context) bool {
	return s.bare.Load() && trace.SpanFromContext(ctx).IsRecording()
}

// ObservesPressure is true so that abandoned calls are told of in any case.
func (*spanObserver) ObservesPressure() bool { return true }

// OnEvent annotates the span with a decision.
func (s *spanObserver) OnEvent(ctx context.Context, e gate.Event) {
	if e.Kind != gate.EventDecision || e.Decision != gate.Abandoned && !s.bare.Load() {
		return
	}
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	o := outcome{
		gate: e.Gate, decision: e.Decision, reason: e.Reason, dryRun: e.DryRun,
		numbers: true, waited: e.Waited, inFlight: e.InFlight, limit: e.Limit,
	}
	if e.Rejection != nil {
		o = rejectionOutcome(e.Rejection)
	}
	if s.bare.Load() || !isServer(span) || !admitted(ctx) {
		o.describe(span)
	}
	if o.dryRun {
		return // the call itself does not wait
	}
	var tracers trace.TracerProvider
	if p := s.tracers.Load(); p != nil {
		tracers = *p
	}
	o.illustrate(ctx, span, tracers, &e.Call)
}

// admitted reports whether a gate in front has admitted the call that ctx belongs
// to. Its span tells of that gate, and not of one that the handler asks; see
// [Recorder.AnnotateClient].
func admitted(ctx context.Context) bool {
	lease, _ := gate.LeaseFromContext(ctx)
	return lease.Gate() != nil
}
