package host

import (
	"context"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/otelgate"
)

// Mark returns the context of a stream whose messages are admitted one by one
// (gate.HoldMessage), so that a host further in does not gate the stream again.
// There is no lease in it to release.
func (h *Host) Mark(ctx context.Context) context.Context {
	return gate.NewContext(ctx, gate.Lease{}, h.admitter)
}

// Messages admits the messages of one stream. Its methods may be used by several
// goroutines at once.
type Messages struct {
	admitter gate.Admitter
	record   *otelgate.Stream // nil: nothing to record
}

// Messages begins with the messages of the stream that ctx belongs to.
func (h *Host) Messages(ctx context.Context) *Messages {
	return &Messages{admitter: h.admitter, record: h.recorder.Stream(ctx)}
}

// Acquire admits one message. What the span is told of it is a part of what it
// is told of the whole stream.
func (m *Messages) Acquire(ctx context.Context, call gate.Call) (gate.Lease, error) {
	lease, err := m.admitter.Acquire(ctx, call)
	m.record.Message(lease, err)
	return lease, err
}

// End writes the summary on the span. The stream's handler has returned.
func (m *Messages) End() { m.record.End() }
