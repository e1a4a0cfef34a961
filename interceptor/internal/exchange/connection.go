package exchange

import (
	"context"
	"sync/atomic"
	"time"
)

// Limits of a server that was configured.
const (
	connectionBytes = 4 << 20 // that the drains of a connection may read at the same time
	serverDrains    = 256     // that may go on at the same time
)

// Server counts the drains of a server.
type Server struct{ drains atomic.Int64 }

// Connection counts what the drains of a connection read. A nil Connection counts
// nothing: its server was not configured.
type Connection struct {
	server *Server
	read   atomic.Int64 // by drains that go on
}

type connectionKey struct{}

// NewConnection returns the context for the requests of a new connection.
func (s *Server) NewConnection(ctx context.Context) context.Context {
	return context.WithValue(ctx, connectionKey{}, &Connection{server: s})
}

// enter begins a drain. It returns how many bytes the drain may read, and for how long:
// under attack, when many drains go on, for less time, and in the end for none. leave
// must be called when the drain is over.
func (c *Connection) enter() (most int64, allowed time.Duration, leave func()) {
	if c == nil {
		return drainBytes, drainTime, func() {}
	}
	others := c.server.drains.Add(1) - 1
	left := max(serverDrains-others, 0)
	return connectionBytes, drainTime * time.Duration(left) / serverDrains, func() { c.server.drains.Add(-1) }
}

// mayRead counts n bytes that a drain has read, and reports whether it may go on.
func (c *Connection) mayRead(n int64) bool {
	return c == nil || c.read.Add(n) < connectionBytes
}

// returned takes back what a drain has counted, when it is over.
func (c *Connection) returned(n int64) {
	if c != nil {
		c.read.Add(-n)
	}
}
