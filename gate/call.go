package gate

import (
	"cmp"
	"context"
)

// Admitter decides whether a call may go ahead. [*Gate], [*Policy] and the
// value made by [Chain] are Admitters, so they compose.
//
// Acquire returns a lease that must be released when the call's work is done,
// or an error: a [*Rejection] when the call is rejected, or ctx's own error when
// the caller went away. Any other error says that the Admitter itself has failed: hosts
// answer Internal, or status 500, without the text of the error. An Admitter is safe for
// concurrent use.
type Admitter interface {
	Acquire(ctx context.Context, call Call) (Lease, error)
}

// Call is what a gate knows about a call. The zero value is a call of cost 1
// and Normal priority about which nothing is known.
type Call struct {
	// Route names the procedure, as in "/orders.v1.OrderService/ListOpen".
	Route string
	// RequestID identifies the call in events, rejections and [Holder]s. A
	// rejection makes one up when it is empty.
	RequestID string
	// RemoteIP is the address of the caller.
	RemoteIP string
	// Key names the client that the call counts for; see [WithKeyLimit]. All calls
	// with an empty key are one client there, unless the gate exempts them; see
	// [WithKeylessExempt].
	Key string
	// Priority orders the waiting calls. The zero value is Normal.
	Priority Priority
	// UnknownRoute marks a route that no server registered, so that telemetry
	// can count it as "_OTHER": clients choose such names freely.
	UnknownRoute bool
	// Cost is how many units of the limit the call takes. Zero or less means
	// 1. A cost above the limit is clamped to it: such a call runs alone.
	Cost int64
	// Size is the size of the request's body in bytes: 0 for one without a body,
	// such as a GET, and [SizeUnknown] where nobody knows it before it is read, such
	// as a chunked upload. It costs nothing unless a gate counts bytes; see
	// [WithCost].
	Size int64
	// SizeIfUnknown is what a gate that counts bytes takes for the size of a call
	// whose size is not known. Zero or less means [DefaultUnknownSize].
	SizeIfUnknown int64
	// Caller finds RequestID and RemoteIP when they are empty and something
	// needs them. Hosts set it, so that a call that is admitted unobserved
	// does not pay for looking them up.
	Caller Caller

	id callID // if an observer has written the call down
}

// SizeUnknown is the [Call.Size] of a request whose size is not known. Any other
// negative size means the same.
const SizeUnknown = -1

// sized returns the call as a cost function sees it, with a size in any case.
func (c Call) sized() Call {
	if c.Size < 0 {
		c.Size = c.SizeIfUnknown
		if c.Size <= 0 {
			c.Size = DefaultUnknownSize
		}
	}
	return c
}

// Caller finds the caller of a call in the call's context. It must be safe for
// concurrent use, also when the call is over: observers hear of a release, a Snapshot
// may just have been taken, and a handler may have left goroutines behind.
type Caller interface {
	Identify(ctx context.Context) (requestID, remoteIP string)
}

// Resolved returns the call with RequestID and RemoteIP filled in where they are
// empty: from its Caller, or from the call that ctx belongs to if a host has admitted
// that one. ctx is the context with which the call was acquired; it may be nil.
func (c Call) Resolved(ctx context.Context) Call {
	if ctx == nil {
		ctx = context.Background()
	}
	if c.RequestID == "" || c.RemoteIP == "" {
		requestID, remoteIP := c.identify(ctx)
		c.RequestID = cmp.Or(c.RequestID, requestID)
		c.RemoteIP = cmp.Or(c.RemoteIP, remoteIP)
	}
	if c.RequestID == "" {
		c.RequestID = c.id.String()
	}
	c.Caller, c.id = nil, 0
	return c
}

// requestID is the RequestID that Resolved fills in.
func (c *Call) requestID(ctx context.Context) string {
	if c.RequestID != "" {
		return c.RequestID
	}
	id, _ := c.identify(ctx)
	return id
}

func (c *Call) identify(ctx context.Context) (requestID, remoteIP string) {
	if c.Caller != nil {
		return c.Caller.Identify(ctx)
	}
	return outerIdentity(ctx)
}

// Priority orders the calls that wait at a gate: a higher one is served first,
// equals in the order of their arrival. Priorities belong to routes, that is to
// processes of the business, not to people.
type Priority int8

// The priorities. Values outside of this range count as the nearest one.
const (
	Low      Priority = -1
	Normal   Priority = 0
	Critical Priority = 1
)

// levels is the number of priorities; see [Priority.level].
const levels = 3

// level is the priority as an index: 0 for Low, 2 for Critical.
func (p Priority) level() int {
	return int(min(max(p, Low), Critical)) + 1
}

// String returns "low", "normal" or "critical".
func (p Priority) String() string {
	return [levels]string{"low", "normal", "critical"}[p.level()]
}

// MarshalText makes a Priority read well in JSON.
func (p Priority) MarshalText() ([]byte, error) { return []byte(p.String()), nil }
