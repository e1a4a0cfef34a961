package otelgate

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/trace"

	"github.com/rpcgate/rpcgate/gate"
)

// Instrument shows gates that are used without an interceptor: each gate of a
// gets metrics, and what it decides about a call is written on the current span
// of the context that the call was acquired with, as [Recorder.Annotate] does. If
// several gates decide in one span, as those of a chain do, the attributes are
// those of the last one.
//
// It may be called any number of times, for instance after a change of the
// configuration has brought new gates: what has been added is not added again.
// Calls with a [gate.Caller] are left to the interceptor that set it, which
// annotates them; they are counted once, wherever they come from.
//
// It is an error, and nothing is changed, if a is nil or has no method
// Gates() []*gate.Gate, if an option has a bad value, or if two of the gates have
// the same name.
func Instrument(a gate.Admitter, opts ...Option) error {
	c, gates, err := prepare(a, opts)
	if err == nil && len(gates) == 0 {
		err = errors.New("the Admitter has no gates that it tells of: want a method Gates() []*gate.Gate")
	}
	if err == nil && !c.noMetrics {
		err = attachMetrics(gates, c)
	}
	if err != nil {
		return fmt.Errorf("otelgate.Instrument: %w", err)
	}
	if !c.noSpans {
		for _, g := range gates {
			g.Observe(&spanObserver{tracers: c.tracers})
		}
	}
	return nil
}

// spanObserver annotates the spans of calls that come to a gate without an
// interceptor.
type spanObserver struct {
	tracers trace.TracerProvider
}

// Enabled reports whether there is a span to annotate.
func (*spanObserver) Enabled(ctx context.Context) bool {
	return trace.SpanFromContext(ctx).IsRecording()
}

// OnEvent annotates the span with a decision.
func (s *spanObserver) OnEvent(ctx context.Context, e gate.Event) {
	if e.Kind != gate.EventDecision || e.Call.Caller != nil {
		return
	}
	o := outcome{
		gate: e.Gate, decision: e.Decision, reason: e.Reason, dryRun: e.DryRun,
		numbers: true, waited: e.Waited, inFlight: e.InFlight, limit: e.Limit,
	}
	if e.Rejection != nil {
		o = rejectionOutcome(e.Rejection)
	}
	span := trace.SpanFromContext(ctx)
	if o.dryRun {
		// The call itself does not wait in a dry run.
		o.describe(span)
		return
	}
	o.annotate(ctx, span, s.tracers, &e.Call)
}

// Same reports whether o annotates the same spans by the same provider.
func (s *spanObserver) Same(o gate.Observer) bool {
	other, ok := o.(*spanObserver)
	return ok && same(s.tracers, other.tracers)
}
