package host

import (
	"context"
	"sync"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/otelgate"
)

// Messages admits the messages of one stream, one after the other
// (gate.HoldMessage). It holds the lease of the message that the handler works on.
// Its methods may be used by several goroutines at once.
type Messages struct {
	host    *Host
	ctx     context.Context  // of the stream
	handler context.Context  // of its handler
	call    gate.Call        // without what depends on the message
	record  *otelgate.Stream // nil: nothing to record

	mu    sync.Mutex
	lease gate.Lease
	ended bool
}

// Messages begins with the messages of a stream, which ctx belongs to. The call is
// what is known of it, without what the options say; md is what the client has sent.
func (h *Host) Messages(ctx context.Context, call gate.Call, md Metadata) *Messages {
	h.describeCaller(ctx, &call, md)
	return &Messages{
		host: h, ctx: ctx, call: call, record: h.recorder.Stream(ctx),
		handler: gate.NewContext(ctx, gate.Lease{}, h.admitter),
	}
}

// Context is the handler's. A host further in does not gate the stream again. There
// is no lease in it to release.
func (m *Messages) Context() context.Context { return m.handler }

// Next gives the lease back: the handler asks for the next message.
func (m *Messages) Next() { m.hold(gate.Lease{}) }

// Admit takes a lease for a message that was received. What the span is told of it
// is a part of what it is told of the whole stream.
func (m *Messages) Admit(message any) error {
	call := m.call
	m.host.weigh(m.ctx, &call, message)
	lease, err := m.host.acquire(m.ctx, &call)
	m.record.Message(lease, err)
	if err == nil {
		m.hold(lease)
	}
	return err
}

// End gives the lease back, for good, and writes the summary on the span. The
// stream's handler has returned.
func (m *Messages) End() {
	m.mu.Lock()
	m.ended = true
	m.mu.Unlock()
	m.Next()
	m.record.End()
}

// hold makes lease the one that is held, instead of the last one. If the handler
// has returned, while a goroutine of its own was still receiving, it gives lease
// back.
func (m *Messages) hold(lease gate.Lease) {
	m.mu.Lock()
	last := m.lease
	if m.ended {
		m.lease = gate.Lease{}
		defer lease.Release()
	} else {
		m.lease = lease
	}
	m.mu.Unlock()
	last.Release()
}
