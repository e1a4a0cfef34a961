package otelgate

import (
	"context"
	"sync"

	"go.opentelemetry.io/otel/trace"

	"github.com/rpcgate/rpcgate/gate"
)

// Stream sums up what the gates decided about the messages of one stream that
// takes a lease per message ([gate.HoldMessage]). Its span gets one set of
// attributes, not one per message. They tell of the first message that was rejected;
// if none was, of the one that waited longest. [KeyMessages] says how many messages
// there were.
//
// The nil *Stream does nothing. A Stream is safe for concurrent use.
type Stream struct {
	recorder *Recorder
	span     trace.Span

	mu       sync.Mutex
	messages int64
	worst    outcome
}

// Stream begins the record of a stream with the context ctx, whose current span is
// the one to annotate. It returns nil if that span is not recording.
func (r *Recorder) Stream(ctx context.Context) *Stream {
	if r == nil || r.config.noSpans {
		return nil
	}
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return nil
	}
	return &Stream{recorder: r, span: span}
}

// Message notes the result of an Acquire for one message. The first rejection
// becomes the event [EventRejected]. A wait gets a child span only if it was
// abandoned.
func (s *Stream) Message(lease gate.Lease, err error) {
	if s == nil {
		return
	}
	var o outcome
	if !s.recorder.outcome(&o, lease, err) {
		return
	}
	s.mu.Lock()
	s.messages++
	worse := o.worseThan(&s.worst)
	first := worse && o.refused()
	if worse {
		s.worst = o
	}
	s.mu.Unlock()
	if first && !s.recorder.illustrated(o.gate) {
		o.addEvent(s.span)
	}
}

// End annotates the span, before it ends. A stream without messages gets no
// attributes.
func (s *Stream) End() {
	if s == nil {
		return
	}
	s.mu.Lock()
	messages, o := s.messages, s.worst
	s.mu.Unlock()
	if messages > 0 {
		o.describe(s.span, KeyMessages.Int64(messages))
	}
}

// worseThan reports whether the span should tell of o rather than of other, which
// came before it.
func (o *outcome) worseThan(other *outcome) bool {
	if a, b := o.rank(), other.rank(); a != b {
		return a > b
	}
	return !o.refused() && o.waited > other.waited
}

// rank is 0 for the zero outcome.
func (o *outcome) rank() int {
	switch {
	case o.refused():
		return 4
	case o.decision == gate.Abandoned:
		return 3
	case o.decision.Rejected(): // in a dry run
		return 2
	case o.decision == gate.Accepted:
		return 1
	default:
		return 0
	}
}
