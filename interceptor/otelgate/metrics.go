package otelgate

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"weak"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/rpcgate/rpcgate/gate"
)

// gateMetrics is the observer that counts the calls of one gate for one meter
// provider.
type gateMetrics struct {
	provider metric.MeterProvider
	*instruments
	routes *routes
}

// attachMetrics adds metrics to those of the gates that do not have them yet
// from this provider.
func attachMetrics(gates []*gate.Gate, c config) error {
	in, err := newInstruments(c.meters)
	if err != nil {
		return fmt.Errorf("instruments: %w", err)
	}
	var errs []error
	for _, g := range gates {
		m := &gateMetrics{provider: c.meters, instruments: in, routes: newRoutes(g.Name(), c.maxRoutes)}
		if _, added := g.Observe(m); added {
			errs = append(errs, in.watch(g))
		}
	}
	return errors.Join(errs...)
}

// watch reports the gate's numbers whenever somebody collects.
//
// The provider holds on to the callback for as long as it lives. So that it does
// not hold on to the gate as well, which a new configuration may have replaced
// long ago, by a gate of the same name perhaps, the callback knows the gate
// weakly and goes with it.
func (in *instruments) watch(g *gate.Gate) error {
	known := weak.Make(g)
	attrs := metric.WithAttributeSet(attribute.NewSet(KeyGateName.String(g.Name())))
	reg, err := in.meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		if g := known.Value(); g != nil {
			o.ObserveInt64(in.inFlight, g.InFlight(), attrs)
			o.ObserveInt64(in.waiting, int64(g.Waiting()), attrs)
			o.ObserveInt64(in.limit, g.Limit(), attrs)
		}
		return nil
	}, in.inFlight, in.waiting, in.limit)
	if err != nil {
		return fmt.Errorf("gate %q: %w", g.Name(), err)
	}
	runtime.AddCleanup(g, func(reg metric.Registration) { _ = reg.Unregister() }, reg)
	return nil
}

// Interest is nothing without an SDK: then the gate does as if it had no observer.
func (m *gateMetrics) Interest(ctx context.Context) gate.Interest {
	if m.enabled(ctx) {
		return gate.ObserveAll
	}
	return gate.ObserveNothing
}

// OnEvent records the event. The context is passed on for the exemplars, except
// for calls that were admitted at once: they are the many, and as examples of who
// waits or is rejected they have nothing to show. Considering one takes an SDK as
// long as all the rest of a measurement. How long a lease was held is of interest
// in any case.
func (m *gateMetrics) OnEvent(ctx context.Context, e gate.Event) {
	switch e.Kind {
	case gate.EventDecision:
		s := m.routes.find(&e.Call).outcome(&e)
		if e.Decision == gate.Accepted && e.Waited == 0 {
			ctx = context.Background()
		}
		m.requests.Add(ctx, 1, s.add...)
		if e.Decision != gate.Abandoned {
			m.wait.Record(ctx, e.Waited.Seconds(), s.record...)
		}
	case gate.EventRelease:
		m.lease.Record(ctx, e.Held.Seconds(), m.routes.find(&e.Call).lease...)
	case gate.EventMaxHold:
		m.tooLong.Add(ctx, 1, m.routes.find(&e.Call).held...)
	}
}

// Same reports whether o counts for the same provider, so that a gate that is
// used in two places is counted once: see [gate.UniqueObserver].
func (m *gateMetrics) Same(o gate.Observer) bool {
	other, ok := o.(*gateMetrics)
	// The global provider of the time before an SDK was set is another than
	// the SDK, but leads to the SDK's meter.
	return ok && (same(m.provider, other.provider) || same(meterOf(m.provider), meterOf(other.provider)))
}

// same reports whether a and b are equal, and false if they cannot be compared.
func same(a, b any) bool {
	if a == nil || b == nil {
		return a == b
	}
	return reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() && a == b
}
