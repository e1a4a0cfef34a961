package otelgate

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/rpcgate/rpcgate/gate"
)

// outcome is what is said on a span about a call's way through its gates.
type outcome struct {
	gate      string // "" if it is not known
	decision  gate.Decision
	reason    gate.Reason
	dryRun    bool
	requestID string // of a rejection

	// numbers says that the following are known.
	numbers         bool
	waited          time.Duration
	inFlight, limit int64
}

// outcomeOf says what an Acquire with these results came to. It is not ok if
// there is nothing to say: the call was exempt, or the error is not a gate's.
func outcomeOf(lease gate.Lease, err error) (o outcome, ok bool) {
	switch r, rejected := errors.AsType[*gate.Rejection](err); {
	case rejected:
		return rejectionOutcome(r), true
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		// The rest is said by the spanObserver.
		return outcome{decision: gate.Abandoned}, true
	case err != nil, lease.Gate() == nil:
		return outcome{}, false
	}
	g := lease.Gate()
	return outcome{
		gate: g.Name(), decision: lease.Decision(), reason: lease.Reason(), dryRun: lease.DryRun(),
		numbers: true, waited: lease.Waited(), inFlight: lease.InFlight(), limit: g.Limit(),
	}, true
}

func rejectionOutcome(r *gate.Rejection) outcome {
	return outcome{
		gate: r.Gate, decision: r.Decision, reason: r.Reason, requestID: r.RequestID,
		numbers: true, waited: r.Waited, inFlight: r.InFlight, limit: r.Limit,
	}
}

// refused reports whether the call was turned away, which in a dry run it is not.
func (o *outcome) refused() bool { return o.decision.Rejected() && !o.dryRun }

// attributeLists are taken for a call of SetAttributes, which copies what it is
// given.
var attributeLists = sync.Pool{New: func() any { return new([9]attribute.KeyValue) }}

// describe sets the attributes of the span: those of the outcome, and more.
func (o *outcome) describe(span trace.Span, more ...attribute.KeyValue) {
	list := attributeLists.Get().(*[9]attribute.KeyValue)
	attrs := append(list[:0], more...)
	if o.gate != "" {
		attrs = append(attrs, KeyGateName.String(o.gate))
	}
	attrs = append(attrs, KeyDecision.String(o.decision.String()))
	if o.reason != 0 {
		attrs = append(attrs, KeyReason.String(o.reason.String()))
	}
	if o.numbers {
		attrs = append(attrs, KeyWaitedMs.Int64(o.waited.Milliseconds()),
			KeyInFlight.Int64(o.inFlight), KeyLimit.Int64(o.limit))
	}
	if o.dryRun {
		attrs = append(attrs, KeyDryRun.Bool(true))
	}
	if o.requestID != "" {
		attrs = append(attrs, KeyRequestID.String(o.requestID))
	}
	span.SetAttributes(attrs...)
	clear(attrs) // the strings belong to the call
	attributeLists.Put(list)
}

// illustrate adds to the span what attributes do not show: the event of a
// rejection, and the wait, as a child.
func (o *outcome) illustrate(ctx context.Context, span trace.Span, tracers trace.TracerProvider, call *gate.Call) {
	if o.refused() {
		o.addEvent(span)
	}
	if o.waited > 0 {
		o.addWait(ctx, span, tracers, call)
	}
}

func (o *outcome) addEvent(span trace.Span) {
	span.AddEvent(EventRejected, trace.WithAttributes(
		KeyGateName.String(o.gate), KeyReason.String(o.reason.String())))
}

// addWait makes the child span of the wait that has just ended. It is made only
// now because until a call has to wait nobody knows that it will.
func (o *outcome) addWait(ctx context.Context, span trace.Span, tracers trace.TracerProvider, call *gate.Call) {
	if tracers == nil {
		tracers = span.TracerProvider()
	}
	attrs := append(make([]attribute.KeyValue, 0, 4),
		KeyGateName.String(o.gate), KeyDecision.String(o.decision.String()))
	if o.reason != 0 {
		attrs = append(attrs, KeyReason.String(o.reason.String()))
	}
	switch method := methodOf(call.Route); {
	case call.UnknownRoute:
		attrs = append(attrs, KeyMethod.String(OtherMethod))
	case method != "":
		attrs = append(attrs, KeyMethod.String(method))
	}
	end := time.Now()
	tracer := tracers.Tracer(ScopeName,
		trace.WithInstrumentationVersion(version()), trace.WithSchemaURL(schemaURL))
	_, wait := tracer.Start(ctx, SpanWait,
		trace.WithTimestamp(end.Add(-o.waited)), trace.WithAttributes(attrs...))
	wait.End(trace.WithTimestamp(end))
}
