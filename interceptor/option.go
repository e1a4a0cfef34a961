// Package interceptor has the options that the interceptors for grpc-go
// (grpcgate), Connect (connectgate) and net/http (httpgate) share:
//
//	grpcgate.ServerOptions(db, interceptor.WithKeyFromRemoteIP())
//
// By default nothing that a client sends has an influence on its treatment, and
// nothing about the gates is told to clients.
package interceptor

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/internal/host"
	"github.com/rpcgate/rpcgate/interceptor/internal/mistake"
)

// Option configures an interceptor. A constructor of one that is given options with
// bad values panics and says what is wrong with each: that is a mistake in the
// program. Only this package makes Options.
type Option interface{ host.Option }

// Metadata is what a client sent: gRPC metadata or HTTP headers. Get returns the
// first value of a key, whatever its case, or "".
type Metadata = host.Metadata

// WithKeyFromRemoteIP makes the address of the caller the key of its calls, so
// that [gate.WithKeyLimit] is fair between addresses. Behind a proxy it needs
// [WithTrustedProxies]. By default calls have no key.
func WithKeyFromRemoteIP() Option {
	return host.OptionFunc(func(c *host.Config) error {
		c.Key = func(ctx context.Context, call gate.Call, _ Metadata) string {
			return call.Resolved(ctx).RemoteIP
		}
		return nil
	})
}

// WithKeyFromHeader makes the value of a header the key of a call, cut to 128
// characters of printable ASCII. Only use a header that clients cannot choose
// freely, such as one that a proxy sets: who can, can have as many keys as he
// likes. By default calls have no key.
func WithKeyFromHeader(name string) Option {
	return host.OptionFunc(func(c *host.Config) error {
		if name == "" {
			return noHeader("WithKeyFromHeader")
		}
		c.Key = func(_ context.Context, _ gate.Call, md Metadata) string { return md.Get(name) }
		return nil
	})
}

// WithKeyFunc finds the key of a call with f, for instance from what an
// authentication interceptor further out put into the context. The key is cut
// to 128 characters of printable ASCII; an empty one means no limit by key. f
// must be safe for concurrent use.
func WithKeyFunc(f func(ctx context.Context, call gate.Call, md Metadata) string) Option {
	return host.OptionFunc(func(c *host.Config) error {
		if f == nil {
			return mistake.Nil("WithKeyFunc", "a function")
		}
		c.Key = f
		return nil
	})
}

// WithPriorityFromHeader lets clients set the priority of a call by a header
// whose value is "low", "normal" or "critical"; anything else is normal. Only
// use it where clients are your own. A priority that the policy gives the route
// counts more. By default the priority is the route's.
func WithPriorityFromHeader(name string) Option {
	return host.OptionFunc(func(c *host.Config) error {
		if name == "" {
			return noHeader("WithPriorityFromHeader")
		}
		c.PriorityHeader = name
		return nil
	})
}

// WithTrustedProxies says from which peers an X-Forwarded-For header is
// believed; the caller's address is then the last one in it that is not a
// trusted proxy. Each is an address or a prefix, as in "10.0.0.0/8". By default
// the header is ignored.
func WithTrustedProxies(proxies ...string) Option {
	return host.OptionFunc(func(c *host.Config) error {
		var errs []error
		for _, proxy := range proxies {
			prefix, err := parsePrefix(proxy)
			if err != nil {
				errs = append(errs, fmt.Errorf("WithTrustedProxies: want addresses or prefixes, got %q", proxy))
				continue
			}
			c.TrustedProxies = append(c.TrustedProxies, prefix)
		}
		return errors.Join(errs...)
	})
}

// parsePrefix parses an address or a prefix.
func parsePrefix(s string) (netip.Prefix, error) {
	if prefix, err := netip.ParsePrefix(s); err == nil {
		return prefix.Masked(), nil
	}
	addr, err := netip.ParseAddr(s)
	if err != nil {
		return netip.Prefix{}, err
	}
	return netip.PrefixFrom(addr, addr.BitLen()), nil
}

// WithCost finds the cost of a call, in units of the limit, from its request
// message, which is nil where the gate comes before the message is read and for
// streams, but for those with [gate.HoldMessage], each of whose messages is
// weighed. Zero or less leaves the cost to the policy. By default calls cost 1,
// or what the policy says. f must be safe for concurrent use.
func WithCost(f func(ctx context.Context, route string, request any) int64) Option {
	return host.OptionFunc(func(c *host.Config) error {
		if f == nil {
			return mistake.Nil("WithCost", "a function")
		}
		c.Cost = f
		return nil
	})
}

// WithSize finds the size in bytes of a request message, for gates that count
// bytes (see [gate.WithCost]):
//
//	interceptor.WithSize(func(m any) int64 { return int64(proto.Size(m.(proto.Message))) })
//
// By default the size is not known, except where a Content-Length says it
// before the message is read. f must be safe for concurrent use.
func WithSize(f func(request any) int64) Option {
	return host.OptionFunc(func(c *host.Config) error {
		if f == nil {
			return mistake.Nil("WithSize", "a function")
		}
		c.Size = f
		return nil
	})
}

// WithStateInDetails tells refused clients the name of the gate, its limit and
// what is in flight, in the metadata of google.rpc.ErrorInfo. By default they
// are not told.
func WithStateInDetails() Option {
	return host.OptionFunc(func(c *host.Config) error {
		c.StateInDetails = true
		return nil
	})
}

// WithMeterProvider records metrics with p. The default is the global provider.
func WithMeterProvider(p metric.MeterProvider) Option {
	return host.OptionFunc(func(c *host.Config) error {
		if p == nil {
			return mistake.Nil("WithMeterProvider", "a provider")
		}
		c.MeterProvider = p
		return nil
	})
}

// WithTracerProvider makes the spans of waits with p. The default is the global
// provider. The attributes go on the call's current span, whoever made it.
func WithTracerProvider(p trace.TracerProvider) Option {
	return host.OptionFunc(func(c *host.Config) error {
		if p == nil {
			return mistake.Nil("WithTracerProvider", "a provider")
		}
		c.TracerProvider = p
		return nil
	})
}

// WithoutTelemetry records neither span attributes nor metrics.
func WithoutTelemetry() Option {
	return host.OptionFunc(func(c *host.Config) error {
		c.WithoutTelemetry = true
		return nil
	})
}

func noHeader(option string) error {
	return fmt.Errorf("%s: want the name of a header, got %q", option, "")
}
