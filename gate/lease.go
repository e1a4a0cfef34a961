package gate

import (
	"context"
	"reflect"
	"time"
)

// Lease is a place in a gate. It must be released when the work of the call is
// done, and not before, also when the caller has gone.
//
// A Lease is a small value that may be copied; all copies are the same lease.
// The zero Lease holds nothing, its Release does nothing; exempt calls get it.
// Its methods are safe for concurrent use.
type Lease struct {
	slot     *slot
	serial   uint64 // of this use of the slot
	gate     *Gate  // that Gate reports; slot.gate is the one to release
	inFlight int64
	waited   time.Duration
	outcome  outcome
}

// outcome packs what was decided into one word, so that a Lease is returned in
// registers.
type outcome uint32

const outcomeDryRun outcome = 1 << 16

func newOutcome(d Decision, r Reason, dryRun bool) outcome {
	o := outcome(d) | outcome(r)<<8
	if dryRun {
		o |= outcomeDryRun
	}
	return o
}

// Release gives the lease back. Only the first call does something, from
// whichever goroutine it comes.
func (l Lease) Release() {
	if l.slot != nil {
		l.slot.gate.release(l.slot, l.serial)
	}
}

// Waited is how long the call waited to be admitted, at all its gates together.
func (l Lease) Waited() time.Duration { return l.waited }

// InFlight is the number of units in use right after the call was admitted, this
// call included.
func (l Lease) InFlight() int64 { return l.inFlight }

// Gate is the gate that admitted the call; of several the one that kept it
// waiting longest, or the narrowest if none did. It is nil for the zero Lease.
func (l Lease) Gate() *Gate { return l.gate }

// Decision is Accepted, unless the gate is in a dry run: then it is what the
// gate would have decided, as far as it was known when the call passed. It is 0
// for the zero Lease.
func (l Lease) Decision() Decision { return Decision(l.outcome & 0xff) }

// Reason refines the Decision of a dry run.
func (l Lease) Reason() Reason { return Reason(l.outcome >> 8 & 0xff) }

// DryRun reports whether the gate was in a dry run.
func (l Lease) DryRun() bool { return l.outcome&outcomeDryRun != 0 }

// leaseContext carries the lease of a call, and who admitted it, in one
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
// [LeaseFromContext] and [AdmittedBy]. Hosts and [Gate.Do] use it.
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

// AdmittedBy reports whether ctx belongs to a call that by has admitted
// already, so that a host further in does not gate it twice.
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
