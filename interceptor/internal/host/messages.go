package host

import (
	"context"
	"sync"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/otelgate"
)

// Messages admits the messages of one stream, one after the other, for
// gate.HoldMessage. It holds the lease of the message that the handler works on. It is
// safe for concurrent use.
type Messages struct {
	host    *Host
	ctx     context.Context  // of the stream
	handler context.Context  // of its handler
	call    gate.Call        // without cost and size, which depend on the message
	record  *otelgate.Stream // nil: nothing to record

	mu    sync.Mutex
	lease gate.Lease
	ended bool
}

// Messages returns the Messages of the stream that ctx belongs to. The call is what
// the host knows about the stream. What the options say is added, as in Describe.
func (h *Host) Messages(ctx context.Context, call gate.Call, md Metadata) *Messages {
	h.describeCaller(ctx, &call, md)
	call.Size = gate.SizeUnknown
	m := &Messages{host: h, ctx: ctx, call: call, record: h.recorder.Stream(ctx)}
	m.handler = gate.NewMessagesContext(ctx, m.current, h.admitter, &call)
	return m
}

// Context returns the context for the handler of the stream. Hosts further in do not
// gate the stream again, nor calls for which the handler's message holds the gates. It
// carries no lease that the handler could release.
func (m *Messages) Context() context.Context { return m.handler }

// Next releases the lease, because the handler asks for the next message.
func (m *Messages) Next() { m.hold(gate.Lease{}) }

// Admit acquires the lease for a message that was received, on the gates that the
// stream's context does not hold already. The stream's span gets a summary of all
// messages at the end.
func (m *Messages) Admit(message any) error {
	call := m.call
	m.host.weigh(m.ctx, &call, message)
	lease, err := gate.Enter(m.ctx, m.host.admitter, &call)
	if err == nil {
		m.hold(lease) // first, so that it is released even if the record panics
	}
	m.record.Message(lease, err)
	return err
}

// End releases the lease, because the stream's handler has returned, and writes the
// summary on the span.
func (m *Messages) End() {
	m.mu.Lock()
	m.ended = true
	m.mu.Unlock()
	m.Next()
	m.record.End()
}

func (m *Messages) current() gate.Lease {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lease
}

// hold keeps lease and releases the one before. It releases lease as well if the
// handler has returned while one of its goroutines was still receiving.
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
