package otelgate

import (
	"context"
	"sync/atomic"

	"go.opentelemetry.io/otel/trace"

	"github.com/rpcgate/rpcgate/gate"
)

// abandonedSpans is the observer that annotates the spans of calls that went away
// while they waited. An interceptor cannot: the error of their Acquire says neither
// where they waited nor how long. A gate has one at most.
type abandonedSpans struct {
	all     atomic.Bool                          // allSpans has taken over
	tracers atomic.Pointer[trace.TracerProvider] // nil: that of the current span
}

// observeSpans returns the gate's observer, which it adds if need be.
func observeSpans(g *gate.Gate, tracers trace.TracerProvider) *abandonedSpans {
	present, _ := g.Observe(&abandonedSpans{})
	s := present.(*abandonedSpans)
	if tracers != nil {
		s.tracers.CompareAndSwap(nil, &tracers)
	}
	return s
}

// Same reports whether other is such an observer, too: a gate needs one.
func (s *abandonedSpans) Same(other gate.Observer) bool {
	_, ok := other.(*abandonedSpans)
	return ok
}

// Interest is fixed, so that calls that are admitted at once are not asked about.
func (s *abandonedSpans) Interest(context.Context) gate.Interest {
	return gate.ObserveTrouble | gate.ObserveFixed
}

// OnEvent annotates the span of an abandoned call.
func (s *abandonedSpans) OnEvent(ctx context.Context, e gate.Event) {
	if e.Decision != gate.Abandoned || s.all.Load() {
		return
	}
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	var o outcome
	o.ofEvent(&e)
	if !isServer(span) || !admitted(ctx) {
		o.describe(span)
	}
	s.illustrate(ctx, span, &o, &e.Call)
}

func (s *abandonedSpans) illustrate(ctx context.Context, span trace.Span, o *outcome, call *gate.Call) {
	var tracers trace.TracerProvider
	if p := s.tracers.Load(); p != nil {
		tracers = *p
	}
	o.illustrate(ctx, span, tracers, call)
}

// admitted reports whether a gate in front has admitted the call that ctx belongs
// to. Its span tells of that gate, and not of one that the handler asks; see
// [Recorder.AnnotateClient].
func admitted(ctx context.Context) bool {
	lease, _ := gate.LeaseFromContext(ctx)
	return lease.Gate() != nil
}

// allSpans is the observer of a gate that is used without an interceptor: it
// annotates the spans of all calls, as nobody else does.
type allSpans struct{ *abandonedSpans }

// observeAllSpans adds an allSpans to the gate, which takes over from
// abandonedSpans.
func observeAllSpans(g *gate.Gate, tracers trace.TracerProvider) {
	s := observeSpans(g, tracers)
	g.Observe(allSpans{s})
	s.all.Store(true)
}

// Same reports whether other is such an observer, too.
func (s allSpans) Same(other gate.Observer) bool {
	_, ok := other.(allSpans)
	return ok
}

// Interest is nothing for a call whose span is not recorded.
func (s allSpans) Interest(ctx context.Context) gate.Interest {
	if trace.SpanFromContext(ctx).IsRecording() {
		return gate.ObserveAll
	}
	return gate.ObserveNothing
}

// OnEvent annotates the span with a decision.
func (s allSpans) OnEvent(ctx context.Context, e gate.Event) {
	span := trace.SpanFromContext(ctx)
	if e.Kind != gate.EventDecision || !span.IsRecording() || !s.all.Load() {
		return
	}
	var o outcome
	o.ofEvent(&e)
	o.describe(span)
	if !o.dryRun { // the call itself does not wait
		s.illustrate(ctx, span, &o, &e.Call)
	}
}
