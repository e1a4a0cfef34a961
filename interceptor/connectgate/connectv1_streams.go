package connectgate

import (
	"connectrpc.com/connect"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/internal/host"
)

// openingConn releases its lease when the first response was sent.
type openingConn struct {
	connect.StreamingHandlerConn
	lease  gate.Lease
	opened bool // only used by Send, which never runs concurrently with itself
}

func (c *openingConn) Send(msg any) error {
	err := c.StreamingHandlerConn.Send(msg)
	if !c.opened && msg != nil { // a nil message sends only the headers
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
	asked       bool // only used by Receive, which never runs concurrently with itself
}

func (c *messageConn) Receive(msg any) error {
	if c.asked && c.Spec().StreamType&connect.StreamTypeClient == 0 {
		// Connect calls, not the handler, to make sure that there is only one
		// request.
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
