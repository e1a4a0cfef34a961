package gate

import "context"

// leaseContext carries the lease of a call, who gave it, and what is known of the
// call, in one allocation.
type leaseContext struct {
	context.Context
	lease   Lease
	by      Admitter
	route   string
	caller  Caller
	message func() Lease // of a handler whose messages are admitted one by one, or nil
}

// callContext is a leaseContext for a call of which more is known.
type callContext struct {
	leaseContext
	call Call
}

type leaseKey struct{}

func (c *leaseContext) Value(key any) any {
	if key == (leaseKey{}) {
		return c
	}
	return c.Context.Value(key)
}

func (c *callContext) Value(key any) any {
	if key == (leaseKey{}) {
		return c
	}
	return c.Context.Value(key)
}

// NewContext returns a context that carries the lease that by gave to the call, for
// [LeaseFromContext] and [Enter], and what is known of the call, for gates that the
// handler acquires by itself. It keeps a copy of the call. It is for authors of
// hosts; [Gate.Do] uses it, too.
func NewContext(ctx context.Context, lease Lease, by Admitter, call *Call) context.Context {
	if call.RequestID == "" && call.RemoteIP == "" && call.Key == "" && call.Priority == Normal && !call.UnknownRoute {
		return &leaseContext{Context: ctx, lease: lease, by: by, route: call.Route, caller: call.Caller}
	}
	return &callContext{leaseContext{Context: ctx, lease: lease, by: by, route: call.Route, caller: call.Caller}, *call}
}

// NewMessagesContext is [NewContext] for the handler of a stream whose messages are
// admitted one by one ([HoldMessage]). message returns the lease of the message that the
// handler works on, or the zero Lease. It may be called by any goroutine.
func NewMessagesContext(ctx context.Context, message func() Lease, by Admitter, call *Call) context.Context {
	return &callContext{leaseContext{Context: ctx, message: message, by: by, route: call.Route, caller: call.Caller}, *call}
}

// LeaseFromContext returns the lease of the call that ctx belongs to, so that a
// handler can release it once its expensive part is over, for instance before
// it writes a large answer to a slow reader. The Lease is safe to use when ok
// is false: it is then the zero Lease.
func LeaseFromContext(ctx context.Context) (lease Lease, ok bool) {
	c := admission(ctx)
	if c == nil {
		return Lease{}, false
	}
	return c.lease, c.lease.slot != nil
}

// admission returns what ctx carries of the innermost call that was admitted, or nil.
func admission(ctx context.Context) *leaseContext {
	if ctx == nil {
		return nil
	}
	switch c := ctx.Value(leaseKey{}).(type) {
	case *leaseContext:
		return c
	case *callContext:
		return &c.leaseContext
	default:
		return nil
	}
}

// current returns the lease that the call has now.
func (c *leaseContext) current() Lease {
	if c.message != nil {
		return c.message()
	}
	return c.lease
}

// inherit fills in what the call leaves empty from the call that ctx belongs to, unless
// the call is one of its own, with a Route.
func (c *Call) inherit(ctx context.Context) {
	if c.Route != "" {
		return
	}
	switch outer := ctx.Value(leaseKey{}).(type) {
	case *leaseContext:
		c.Route = outer.route
	case *callContext:
		c.Route, c.UnknownRoute = outer.route, outer.call.UnknownRoute
		if c.Key == "" {
			c.Key = outer.call.Key
		}
		if c.Priority == Normal {
			c.Priority = outer.call.Priority
		}
	}
}

// outerIdentity finds the request id and the address of the call that ctx belongs to.
func outerIdentity(ctx context.Context) (requestID, remoteIP string) {
	switch outer := ctx.Value(leaseKey{}).(type) {
	case *leaseContext:
		if outer.caller == nil { // the handler's own gate; the host's is further out
			requestID, remoteIP = outerIdentity(outer.Context)
		} else {
			requestID, remoteIP = outer.caller.Identify(outer.Context)
		}
		if requestID == "" {
			requestID = outer.current().IdentifiedAs(context.Background())
		}
		return requestID, remoteIP
	case *callContext:
		call := outer.call.Resolved(outer.Context)
		if call.RequestID == "" {
			call.RequestID = outer.current().IdentifiedAs(context.Background())
		}
		return call.RequestID, call.RemoteIP
	}
	return "", ""
}
