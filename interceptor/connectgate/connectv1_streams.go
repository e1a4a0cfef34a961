package connectgate

import (
	"context"

	"connectrpc.com/connect"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/internal/host"
)

// openingConn gives its lease back once the first response was sent.
type openingConn struct {
	connect.StreamingHandlerConn
	lease  gate.Lease
	opened bool // only Send touches it, which must not run twice at a time
}

func (c *openingConn) Send(msg any) error {
	err := c.StreamingHandlerConn.Send(msg)
	if !c.opened && msg != nil { // nil sends the headers alone
		c.opened = true
		c.lease.Release()
	}
	return err
}

// messageConn takes a place for each message it receives.
type messageConn struct {
	connect.StreamingHandlerConn
	interceptor *interceptorV1
	ctx         context.Context
	call        gate.Call // but for what depends on the message
	messages    *host.Messages
	turn        turn
	asked       bool // only Receive touches it, which must not run twice at a time
}

func (c *messageConn) Receive(msg any) error {
	if c.asked && c.Spec().StreamType&connect.StreamTypeClient == 0 {
		// It is not the handler that asks, but Connect, which makes sure
		// that the one request is the only one.
		return c.StreamingHandlerConn.Receive(msg)
	}
	c.asked = true
	c.turn.pass()
	if err := c.StreamingHandlerConn.Receive(msg); err != nil {
		return err
	}
	call := c.call
	if c.interceptor.host.NeedsRequest() {
		call = c.interceptor.host.Weigh(c.ctx, call, msg)
	}
	lease, err := c.messages.Acquire(c.ctx, call)
	if err != nil {
		return c.interceptor.notAdmitted(c.ctx, c.StreamingHandlerConn, err)
	}
	c.turn.hold(lease)
	return nil
}

func (c *messageConn) end() {
	c.turn.end()
	c.messages.End()
}
