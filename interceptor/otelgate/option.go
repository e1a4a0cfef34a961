package otelgate

import (
	"errors"
	"fmt"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// DefaultMaxRoutes is the default of [WithMaxRoutes]. With five outcomes each, so
// many routes just fit into the 2000 series that the SDK keeps of an instrument.
const DefaultMaxRoutes = 400

// Option configures [Instrument] and [NewRecorder]; see the functions that
// begin with With.
type Option interface {
	apply(*config) error
}

type optionFunc func(*config) error

func (f optionFunc) apply(c *config) error { return f(c) }

type config struct {
	meters    metric.MeterProvider
	tracers   trace.TracerProvider // nil: that of the current span
	maxRoutes int
	noMetrics bool
	noSpans   bool
}

// newConfig applies the options to the defaults.
func newConfig(opts []Option) (config, error) {
	c := config{maxRoutes: DefaultMaxRoutes}
	var errs []error
	for i, o := range opts {
		if o == nil {
			errs = append(errs, fmt.Errorf("option %d is nil", i))
			continue
		}
		if err := o.apply(&c); err != nil {
			errs = append(errs, err)
		}
	}
	if c.meters == nil {
		c.meters = otel.GetMeterProvider()
	}
	return c, errors.Join(errs...)
}

// WithMeterProvider sets where metrics go. The default is the global provider,
// even if that is set later. A gate that is instrumented with several providers
// reports everything to each of them, once. It is an error if p is nil.
//
// Name the provider always or never. If a provider is named here for a gate that
// also has the global one, and then becomes the global one, that gate is counted
// twice.
func WithMeterProvider(p metric.MeterProvider) Option {
	return optionFunc(func(c *config) error {
		if p == nil {
			return errors.New("WithMeterProvider: want a provider, got nil")
		}
		c.meters = p
		return nil
	})
}

// WithTracerProvider sets the provider that makes the child spans named
// [SpanWait]. The default is the one that made the current span of the call. If
// [Instrument] is given several for one gate, the first counts. It is an error if p
// is nil.
func WithTracerProvider(p trace.TracerProvider) Option {
	return optionFunc(func(c *config) error {
		if p == nil {
			return errors.New("WithTracerProvider: want a provider, got nil")
		}
		c.tracers = p
		return nil
	})
}

// WithMaxRoutes sets how many routes the metrics of a gate tell apart. The calls of
// further routes count as [OtherMethod], with 0 those of all routes. The default is
// [DefaultMaxRoutes]. Before you raise it, look at the SDK's own limit of series. If
// it is given several times for one gate and provider, the first counts. It is an
// error if n is negative.
func WithMaxRoutes(n int) Option {
	return optionFunc(func(c *config) error {
		if n < 0 {
			return fmt.Errorf("WithMaxRoutes: want 0 or more, got %d", n)
		}
		c.maxRoutes = n
		return nil
	})
}

// WithoutMetrics adds no metrics. By default all metrics are added.
func WithoutMetrics() Option {
	return optionFunc(func(c *config) error {
		c.noMetrics = true
		return nil
	})
}

// WithoutSpans adds nothing to spans. By default the current span of a call is
// annotated.
func WithoutSpans() Option {
	return optionFunc(func(c *config) error {
		c.noSpans = true
		return nil
	})
}
