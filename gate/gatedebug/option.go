package gatedebug

import (
	"context"
	"fmt"
	"time"
)

// Defaults of the options.
const (
	DefaultInterval   = time.Second
	DefaultMaxViewers = 16
)

// Option configures a handler made by [New]; see the functions that begin with
// With. A bad value is a mistake of the program: the function that is given it
// panics.
type Option interface {
	apply(*config)
}

type optionFunc func(*config)

func (f optionFunc) apply(c *config) { f(c) }

type config struct {
	interval   time.Duration
	maxViewers int
	traceID    func(context.Context) string // may be nil
	control    bool
}

func newConfig(opts []Option) config {
	c := config{interval: DefaultInterval, maxViewers: DefaultMaxViewers}
	for i, o := range opts {
		if o == nil {
			misuse("New: option %d is nil", i)
		}
		o.apply(&c)
	}
	return c
}

// misuse reports a mistake of the program that uses the package.
func misuse(format string, args ...any) {
	panic("gatedebug: " + fmt.Sprintf(format, args...))
}

// WithTraceID sets how the trace id of a rejected call is found, from the call's
// context, so that the page can show it. By default no trace ids are shown. With
// OpenTelemetry:
//
//	gatedebug.WithTraceID(func(ctx context.Context) string {
//		return trace.SpanContextFromContext(ctx).TraceID().String()
//	})
//
// The function runs on the goroutine of the call, at most 20 times a second for
// a gate, and must be safe for concurrent use. It panics if f is nil.
func WithTraceID(f func(context.Context) string) Option {
	if f == nil {
		misuse("WithTraceID: want a function, got nil")
	}
	return optionFunc(func(c *config) { c.traceID = f })
}

// WithControl lets the page, and whoever sends the same request, set the limit of
// a gate and turn its dry run on and off. By default the handler is read-only.
//
// Requests of other sites that a browser was talked into are refused, by
// [net/http.CrossOriginProtection] and by the content type. That is no
// authentication: whoever can reach the handler can control the gates.
//
// A limit that is set by hand lasts until something else sets it: an adaptive
// limit does so soon.
func WithControl() Option {
	return optionFunc(func(c *config) { c.control = true })
}

// WithMaxViewers sets how many viewers may have the page open at once. The
// default is 16; one more is answered with 503. It panics if n is not above 0.
func WithMaxViewers(n int) Option {
	if n <= 0 {
		misuse("WithMaxViewers: want a number above 0, got %d", n)
	}
	return optionFunc(func(c *config) { c.maxViewers = n })
}

// WithInterval sets how often the gates are sampled while somebody watches. The
// default is a second. It panics unless d is at least 100 ms.
func WithInterval(d time.Duration) Option {
	if d < 100*time.Millisecond {
		misuse("WithInterval: want 100ms or more, got %s", d)
	}
	return optionFunc(func(c *config) { c.interval = d })
}
