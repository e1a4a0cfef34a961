package otelgate

import (
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/rpcgate/rpcgate/gate"
)

// describe sets the attributes of the span: those of the outcome, and more.
func (o *outcome) describe(span trace.Span, more ...attribute.KeyValue) {
	if len(more) == 0 && o.acceptedAtOnce() {
		list := acceptedLists.Get().(*acceptedList)
		span.SetAttributes(list.of(o)...) // which copies them
		acceptedLists.Put(list)
		return
	}
	span.SetAttributes(o.attributes(more)...)
}

// attributes are those of the outcome, and more.
func (o *outcome) attributes(more []attribute.KeyValue) []attribute.KeyValue {
	attrs := append(make([]attribute.KeyValue, 0, 9), more...)
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
	return attrs
}

// acceptedAtOnce reports whether an acceptedList can have the outcome.
func (o *outcome) acceptedAtOnce() bool {
	return o.decision == gate.Accepted && o.waited < time.Millisecond && o.gate != "" && o.numbers && !o.dryRun && o.requestID == ""
}

// acceptedList has the attributes of a call that was accepted at once, as most
// are. Such calls differ in little: a list is used again, and only what differs is
// written.
type acceptedList struct {
	attrs           [5]attribute.KeyValue // as attributes orders them
	gate            string
	inFlight, limit int64
}

var acceptedLists = sync.Pool{New: func() any {
	return &acceptedList{attrs: [5]attribute.KeyValue{
		KeyGateName.String(""), KeyDecision.String(gate.Accepted.String()),
		KeyWaitedMs.Int64(0), KeyInFlight.Int64(0), KeyLimit.Int64(0)}}
}}

// of returns the attributes of the outcome. They are valid until the next call.
func (l *acceptedList) of(o *outcome) []attribute.KeyValue {
	if l.gate != o.gate {
		l.gate, l.attrs[0] = o.gate, KeyGateName.String(o.gate)
	}
	if l.inFlight != o.inFlight {
		l.inFlight, l.attrs[3] = o.inFlight, KeyInFlight.Int64(o.inFlight)
	}
	if l.limit != o.limit {
		l.limit, l.attrs[4] = o.limit, KeyLimit.Int64(o.limit)
	}
	return l.attrs[:]
}
