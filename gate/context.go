package gate

import (
	"context"
	"reflect"
)

// leaseContext carries the lease of a call, and the Admitter that gave it, in one
// allocation.
type leaseContext struct {
	context.Context
	lease Lease
	by    Admitter
}

type leaseKey struct{}

func (c *leaseContext) Value(key any) any {
	if key == (leaseKey{}) {
		return c
	}
	return c.Context.Value(key)
}

// NewContext returns a context that carries the lease that by gave, for
// [LeaseFromContext] and [AdmittedBy]. It is for authors of hosts; [Gate.Do] uses
// it, too.
func NewContext(ctx context.Context, lease Lease, by Admitter) context.Context {
	return &leaseContext{Context: ctx, lease: lease, by: by}
}

// LeaseFromContext returns the lease of the call that ctx belongs to, so that a
// handler can release it once its expensive part is over, for instance before
// it writes a large answer to a slow reader. The Lease is safe to use when ok
// is false: it is then the zero Lease.
func LeaseFromContext(ctx context.Context) (lease Lease, ok bool) {
	c, ok := ctx.Value(leaseKey{}).(*leaseContext)
	if !ok {
		return Lease{}, false
	}
	return c.lease, true
}

// AdmittedBy reports whether ctx belongs to a call that by has admitted already, so
// that a host further in does not gate it twice. It is for authors of hosts.
func AdmittedBy(ctx context.Context, by Admitter) bool {
	for ctx != nil {
		c, ok := ctx.Value(leaseKey{}).(*leaseContext)
		if !ok {
			return false
		}
		// Two Admitters of one type that cannot be compared are not the same.
		if reflect.TypeOf(c.by) == reflect.TypeOf(by) && reflect.ValueOf(by).Comparable() && c.by == by {
			return true
		}
		ctx = c.Context
	}
	return false
}
