package gate

import (
	"context"
	"time"
)

// Waiter is a call that waits at a gate. In a dry run the call itself
// has been let through, and only its slot waits.
type Waiter struct {
	Call Call `json:"-"`
	// Route, RequestID, RemoteIP and Key are those of the Call. In JSON the key is
	// hashed; see [WithKeySecret].
	Route     string   `json:"route"`
	RequestID string   `json:"request_id"`
	RemoteIP  string   `json:"remote_ip"`
	Key       string   `json:"key,omitempty"`
	Priority  Priority `json:"priority"`
	Cost      int64    `json:"cost"` // units asked for
	// SelfWait marks a call whose own context holds the gate already: it waits for
	// itself. The usual cause is one gate in front of a handler and again inside of
	// it.
	SelfWait bool `json:"self_wait,omitempty"`
	// Waited is how long the call has been waiting.
	Waited time.Duration `json:"waited_ns"`

	keyHasher *keyHasher
}

// Waiters lists the calls that wait, the next to be served first. It holds the
// gate's lock for as long as it takes to copy them, so it is for people, not for
// every call.
func (g *Gate) Waiters() []Waiter {
	type waiting struct {
		call  Call
		ctx   context.Context
		want  int64
		since int64
		self  bool
	}
	now := g.now()
	g.mu.Lock()
	all := make([]waiting, 0, g.queue.total)
	for l := levels - 1; l >= 0; l-- {
		for s := g.queue.first[l]; s != nil; s = s.next {
			all = append(all, waiting{s.known(), s.ctx, s.want, s.since, s.selfWait})
		}
	}
	g.mu.Unlock()

	waiters := make([]Waiter, len(all))
	for i, w := range all {
		call := w.call.Resolved(w.ctx)
		waiters[i] = Waiter{
			Call: call, Route: call.Route, RequestID: call.RequestID, RemoteIP: call.RemoteIP, Key: call.Key,
			Priority: call.Priority, Cost: w.want, SelfWait: w.self, Waited: time.Duration(max(now-w.since, 0)),
			keyHasher: g.set().keyHasher,
		}
	}
	return waiters
}
