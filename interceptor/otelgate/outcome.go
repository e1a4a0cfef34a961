package otelgate

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/rpcgate/rpcgate/gate"
)

// outcome is what a span tells of a call's way through its gates. It is large, so
// it is filled in where it stands.
type outcome struct {
	gate      string // "" if it is not known
	decision  gate.Decision
	reason    gate.Reason
	dryRun    bool
	requestID string // of a rejection, or of a call that an observer has written down

	// numbers says that the following are known.
	numbers         bool
	waited          time.Duration
	inFlight, limit int64
}

// ofAcquire fills in what an Acquire with these results came to. It reports false
// if there is nothing to tell: the call was exempt, or the error is not a gate's.
func (o *outcome) ofAcquire(lease gate.Lease, err error) bool {
	if err != nil {
		return o.ofError(err)
	}
	g := lease.Gate()
	if g == nil {
		return false
	}
	o.gate, o.limit = g.Name(), g.Limit()
	o.decision, o.reason, o.dryRun = lease.Decision(), lease.Reason(), lease.DryRun()
	o.numbers, o.waited, o.inFlight = true, lease.Waited(), lease.InFlight()
	return true
}

func (o *outcome) ofError(err error) bool {
	if r, ok := errors.AsType[*gate.Rejection](err); ok {
		o.ofRejection(r)
		return true
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		o.decision = gate.Abandoned // abandonedSpans tells the rest
		return true
	}
	return false
}

func (o *outcome) ofRejection(r *gate.Rejection) {
	o.gate, o.decision, o.reason, o.requestID = r.Gate, r.Decision, r.Reason, r.RequestID
	o.numbers, o.waited, o.inFlight, o.limit = true, r.Waited, r.InFlight, r.Limit
}

// ofEvent fills in what the event of a decision tells.
func (o *outcome) ofEvent(e *gate.Event) {
	if e.Rejection != nil {
		o.ofRejection(e.Rejection)
		return
	}
	o.gate, o.decision, o.reason, o.dryRun = e.Gate, e.Decision, e.Reason, e.DryRun
	o.numbers, o.waited, o.inFlight, o.limit = true, e.Waited, e.InFlight, e.Limit
}

// refused reports whether the call was turned away, which in a dry run it is not.
func (o *outcome) refused() bool { return o.decision.Rejected() && !o.dryRun }

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
