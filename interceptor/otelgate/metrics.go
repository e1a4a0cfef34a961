package otelgate

import (
	"context"
	"reflect"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/metric"

	"github.com/rpcgate/rpcgate/gate"
)

// gateMetrics is the observer that counts the calls of one gate for one meter
// provider. The provider keeps it, so it does not keep the gate.
type gateMetrics struct {
	provider metric.MeterProvider
	*instruments
	routes *routes

	collected atomic.Bool // a callback has come
	adding    sync.Mutex  // held to add calls to the counter
}

// Interest is nothing without an SDK: the gate then works as if it had no observer.
func (m *gateMetrics) Interest(ctx context.Context) gate.Interest {
	if m.enabled(ctx) {
		return gate.ObserveAll
	}
	return gate.ObserveNothing
}

// OnEvent records the event.
//
// With its context a call can become an exemplar, and the measurement takes an SDK a
// third longer. So only the calls that are worth a look come with theirs: those that
// waited or were rejected, and those that held a lease for long.
func (m *gateMetrics) OnEvent(ctx context.Context, e gate.Event) {
	r := m.routes.find(&e.Call)
	switch e.Kind {
	case gate.EventDecision:
		s := r.outcome(&e)
		m.count(s)
		if e.Decision == gate.Abandoned {
			return
		}
		if e.Decision == gate.Accepted && e.Waited == 0 {
			ctx = context.Background()
		}
		m.wait.Record(ctx, e.Waited.Seconds(), s.record...)
	case gate.EventRelease:
		if !r.mean.exceededBy(e.Held) {
			ctx = context.Background()
		}
		m.lease.Record(ctx, e.Held.Seconds(), r.held(e.Reason)...)
	case gate.EventMaxHold:
		m.tooLong.Add(ctx, 1, r.tooLong...)
	}
}

// Same reports whether o counts for the same provider, so that the calls of a gate
// that two hosts share are counted once: see [gate.UniqueObserver].
func (m *gateMetrics) Same(o gate.Observer) bool {
	other, ok := o.(*gateMetrics)
	// A global provider from before an SDK was set is not equal to the SDK, but
	// leads to the SDK's meter.
	return ok && (same(m.provider, other.provider) || same(meterOf(m.provider), meterOf(other.provider)))
}

// same reports whether a and b are equal, and false if they cannot be compared.
func same(a, b any) bool {
	if a == nil || b == nil {
		return a == b
	}
	return reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() && a == b
}
