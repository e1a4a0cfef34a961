package otelgate

import (
	"errors"
	"fmt"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// DefaultMaxRoutes is the default of [WithMaxRoutes]. With five outcomes each
// they just fit into the 2000 series that the SDK keeps of an instrument.
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
// also if that is set later. A gate that is instrumented with several providers
// reports all to each of them, and to none of them twice. It is an error if p is
// nil.
//
// Name the provider always or never: one that is named here first and becomes
// the global one afterwards is told twice by gates that know both.
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
// [SpanWait]. The default is the one that made the current span of the call. Of
// several given for one gate without an interceptor the first counts. It is an
// error if p is nil.
func WithTracerProvider(p trace.TracerProvider) Option {
	return optionFunc(func(c *config) error {
		if p == nil {
			return errors.New("WithTracerProvider: want a provider, got nil")
		}
		c.tracers = p
		return nil
	})
}

// WithMaxRoutes sets how many routes the metrics of a gate tell apart; the calls
// of further ones count as [OtherMethod]. The default is [DefaultMaxRoutes]. 0
// tells none apart. When raising it, mind the SDK's own limit of series. Of the
// options given for one gate and provider the first counts. It is an error if n
// is negative.
func WithMaxRoutes(n int) Option {
	return optionFunc(func(c *config) error {
		if n < 0 {
			return fmt.Errorf("WithMaxRoutes: want 0 or more, got %d", n)
		}
		c.maxRoutes = n
		return nil
	})
}

// WithoutMetrics adds no metrics. By default there are all.
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
