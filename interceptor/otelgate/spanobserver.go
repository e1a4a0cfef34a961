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
}

// observeSpans returns the gate's spanObserver, which it adds if need be.
func observeSpans(g *gate.Gate, tracers trace.TracerProvider) *spanObserver {
	present, _ := g.Observe(&spanObserver{})
	s := present.(*spanObserver)
	if tracers != nil {
		s.tracers.CompareAndSwap(nil, &tracers)
	}
	return s
}

// Same reports whether other is a spanObserver, too: a gate needs one.
func (s *spanObserver) Same(other gate.Observer) bool {
	_, ok := other.(*spanObserver)
	return ok
}

// Interest is trouble at least, so that the observer hears of abandoned calls.
func (s *spanObserver) Interest(ctx context.Context) gate.Interest {
	if s.bare.Load() && trace.SpanFromContext(ctx).IsRecording() {
		return gate.ObserveAll
	}
	return gate.ObserveTrouble
}

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
