package gatedebug

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rpcgate/rpcgate/gate/gatelog"
	"github.com/rpcgate/rpcgate/gate/internal/clean"
)

// Defaults of the options.
const (
	DefaultInterval   = time.Second
	DefaultMaxViewers = 16
)

// Option configures the page; see the functions that begin with With. A bad value
// is a programmer's mistake: [Handler] panics and names all of them.
type Option interface {
	apply(*config) error
}

type optionFunc func(*config) error

func (f optionFunc) apply(c *config) error { return f(c) }

type config struct {
	interval     time.Duration
	maxViewers   int
	traceID      func(context.Context) string // may be nil
	control      bool
	controlHosts []string // canonical; loopback ones are allowed without being here
	rawKeys      bool
	addresses    clean.Addresses
	log          *gatelog.Logger // may be nil
}

// newConfig applies options to the defaults. The error names everything that is
// wrong.
func newConfig(opts []Option) (config, error) {
	c := config{interval: DefaultInterval, maxViewers: DefaultMaxViewers}
	var errs []error
	for i, o := range opts {
		if o == nil {
			errs = append(errs, fmt.Errorf("Handler: want an option, got nil as option %d of %d", i+1, len(opts)))
			continue
		}
		errs = append(errs, o.apply(&c))
	}
	return c, errors.Join(errs...)
}

// must panics if there were mistakes of the program.
func must(err error) {
	if err != nil {
		panic("gatedebug: " + err.Error())
	}
}

// WithTraceID sets the function that finds the trace id of a rejected call in the
// call's context, for the page to show. By default no trace ids are shown. With
// OpenTelemetry:
//
//	gatedebug.WithTraceID(func(ctx context.Context) string {
//		return trace.SpanContextFromContext(ctx).TraceID().String()
//	})
//
// f runs on the goroutine of the call, at most 20 times a second for each gate.
// It must be safe for concurrent use and must not be nil.
func WithTraceID(f func(context.Context) string) Option {
	return optionFunc(func(c *config) error {
		if f == nil {
			return errors.New("WithTraceID: want a function, got nil")
		}
		c.traceID = f
		return nil
	})
}

// WithControl lets the page set the limit of a gate and switch its dry run on and
// off. By default the handler is read-only.
//
// Whoever can reach the handler can then control the gates: there is no
// authentication. But a browser must not do it for another site. So a command is
// refused if the browser says that another site sent it, and unless the page was
// opened at localhost, at a loopback address or at one of hosts. A site whose name
// was made to point to this server, by DNS rebinding, has another name. hosts are
// names and addresses without a port:
//
//	gatedebug.WithControl("ops.example.com", "10.0.0.7")
//
// Behind a proxy, the host is what the proxy sends in the Host header.
//
// A limit that was set on the page stays until it is set again, there or by
// [gate.Gate.SetLimit].
func WithControl(hosts ...string) Option {
	return optionFunc(func(c *config) error {
		var errs []error
		c.control = true
		for _, host := range hosts {
			if !isHost(host) {
				errs = append(errs, fmt.Errorf("WithControl: want a host without scheme and port, got %q", host))
			}
			c.controlHosts = append(c.controlHosts, canonicalHost(host))
		}
		return errors.Join(errs...)
	})
}

// WithMaxViewers sets how many viewers get live events at once. The default is 16. For
// the next one, the viewer who came first gives way: its page is then updated only every
// 10 seconds, until there is room again or somebody uses it. n must be above 0.
func WithMaxViewers(n int) Option {
	return optionFunc(func(c *config) error {
		if n <= 0 {
			return fmt.Errorf("WithMaxViewers: want a number above 0, got %d", n)
		}
		c.maxViewers = n
		return nil
	})
}

// WithInterval sets how often the gates are sampled while there are viewers or a gate
// is in trouble. The default is a second. d must be at least 100 ms.
func WithInterval(d time.Duration) Option {
	return optionFunc(func(c *config) error {
		if d < 100*time.Millisecond {
			return fmt.Errorf("WithInterval: want 100ms or more, got %s", d)
		}
		c.interval = d
		return nil
	})
}

// WithRawKeys shows the keys of calls as they are. By default they are hashed, since
// a key may be a credential; see [gate.WithKeySecret].
func WithRawKeys() Option {
	return optionFunc(func(c *config) error {
		c.rawKeys = true
		return nil
	})
}

// WithShortAddresses shows only the network of an address: the first 24 bits of IPv4, the
// first 48 of IPv6. By default addresses are shown whole.
func WithShortAddresses() Option {
	return optionFunc(func(c *config) error {
		c.addresses = max(c.addresses, clean.Short)
		return nil
	})
}

// WithoutAddresses shows no addresses of callers. By default they are shown whole.
func WithoutAddresses() Option {
	return optionFunc(func(c *config) error {
		c.addresses = clean.Hidden
		return nil
	})
}
