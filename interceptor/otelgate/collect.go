package otelgate

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"weak"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/rpcgate/rpcgate/gate"
)

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
			errs = append(errs, m.watch(g))
		}
	}
	return errors.Join(errs...)
}

// watch registers the callback that reports the gate's numbers at each collection.
//
// The provider keeps the callback for as long as it lives. A gate may be replaced
// long before, often by one of the same name. So the callback does not keep the
// gate alive, and it is removed when the gate is gone.
func (m *gateMetrics) watch(g *gate.Gate) error {
	alive := weak.Make(g)
	attrs := metric.WithAttributeSet(attribute.NewSet(KeyGateName.String(g.Name())))
	reg, err := m.meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		m.collected.Store(true)
		m.addCalls()
		if g := alive.Value(); g != nil {
			o.ObserveInt64(m.inFlight, g.InFlight(), attrs)
			o.ObserveInt64(m.waiting, int64(g.Waiting()), attrs)
			o.ObserveInt64(m.limit, g.Limit(), attrs)
		}
		return nil
	}, m.inFlight, m.waiting, m.limit)
	if err != nil {
		return fmt.Errorf("gate %q: %w", g.Name(), err)
	}
	runtime.AddCleanup(g, func(reg metric.Registration) {
		m.addCalls() // those since the last collection
		_ = reg.Unregister()
	}, reg)
	return nil
}

// count counts one call. In the series that costs next to nothing, and the next
// collection adds it to the counter.
//
// But a view can drop all the observable instruments, and then no callback runs. So
// calls go to the counter directly until the first callback has come.
func (m *gateMetrics) count(s *series) {
	if m.collected.Load() {
		s.calls.Add(1)
		return
	}
	m.requests.Add(context.Background(), 1, s.add...)
}

// addCalls adds the calls that the series have counted to the counter. A provider
// runs callbacks before it reads its counters, so each collection has all calls.
//
// An observable counter would need totals that live as long as the provider, and
// that each new gate of the same name finds. No API leads from a provider to such
// totals. Its own counter has them: it adds up what all gates of one name have
// counted, and keeps that when they are gone.
func (m *gateMetrics) addCalls() {
	// The lock makes a second collection wait until the first one has added what it
	// took.
	m.adding.Lock()
	defer m.adding.Unlock()
	m.routes.each(func(s *series) {
		if s.calls.Load() == 0 {
			return
		}
		m.requests.Add(context.Background(), s.calls.Swap(0), s.add...)
	})
}
