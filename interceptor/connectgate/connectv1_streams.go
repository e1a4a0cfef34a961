package connectgate

import (
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

// messageConn takes a lease for each message it receives.
type messageConn struct {
	connect.StreamingHandlerConn
	interceptor *interceptorV1
	messages    *host.Messages
	asked       bool // only Receive touches it, which must not run twice at a time
}

func (c *messageConn) Receive(msg any) error {
	if c.asked && c.Spec().StreamType&connect.StreamTypeClient == 0 {
		// It is not the handler that asks, but Connect, which makes sure
		// that the one request is the only one.
		return c.StreamingHandlerConn.Receive(msg)
	}
	c.asked = true
	c.messages.Next()
	if err := c.StreamingHandlerConn.Receive(msg); err != nil {
		return err
	}
	if err := c.messages.Admit(msg); err != nil {
		return c.interceptor.notAdmitted(c.messages.Context(), c.StreamingHandlerConn, err)
	}
	return nil
}
