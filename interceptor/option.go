// Package interceptor has the options that the interceptors for grpc-go
// (grpcgate), Connect (connectgate) and net/http (httpgate) share:
//
//	grpcgate.ServerOptions(db, interceptor.WithKeyFromRemoteIP())
//
// By default clients cannot influence how a gate treats them, and they learn
// nothing about the gates.
//
// # Keys
//
// A gate with [gate.WithKeyLimit] needs to know which client a call counts for. One of
// [WithKeyFromRemoteIP], [WithKeyFromHeader] and [WithKeyFunc] finds the key of a call.
// A constructor panics if it gets two of them, or one with gates that use no keys.
//
// A key of up to 128 characters of printable ASCII is used as it is. Any other key is
// replaced by "§" and the first 32 hexadecimal digits of its SHA-256, so that no two
// clients have the same key. An empty key is none: all calls without a key are one
// client, unless the gate has [gate.WithKeylessExempt].
package interceptor

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/rpcgate/rpcgate/interceptor/internal/host"
	"github.com/rpcgate/rpcgate/interceptor/internal/mistake"
)

// Option configures an interceptor. A constructor panics if an option is nil or has
// a bad value, and says what is wrong with each of them. Only this package makes
// Options.
type Option interface{ host.Option }

// Metadata is what a client has sent: gRPC metadata or HTTP headers.
type Metadata interface {
	// Get returns the first value of a key, whatever its case, or "".
	Get(key string) string
}

// WithPriorityFromHeader lets clients set the priority of a call in a header, as
// "low", "normal" or "critical". Any other value is normal. Only use it if you
// control the clients. A priority in the rule of the route takes precedence. By
// default a call has the priority of its route.
func WithPriorityFromHeader(name string) Option {
	return host.OptionFunc(func(c *host.Config) error {
		if name == "" {
			return noHeader("WithPriorityFromHeader")
		}
		c.PriorityHeader = name
		return nil
	})
}

// WithTrustedProxies lists the peers whose X-Forwarded-For header is trusted, as
// addresses or prefixes such as "10.0.0.0/8". The caller's address is then the last
// one in the header that is not a trusted proxy. By default the header is ignored.
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
		if addr := prefix.Addr(); addr.Is4In6() && prefix.Bits() >= 96 {
			prefix = netip.PrefixFrom(addr.Unmap(), prefix.Bits()-96)
		}
		return prefix.Masked(), nil
	}
	addr, err := netip.ParseAddr(s)
	if err != nil {
		return netip.Prefix{}, err
	}
	addr = addr.Unmap()
	return netip.PrefixFrom(addr, addr.BitLen()), nil
}

// WithCost finds the cost of a call, in units of the limit, from its request
// message. The request is nil for streams and wherever the gate comes before the
// message is read. A stream with [gate.HoldMessage] has a cost for each message. If
// f returns zero or less, the cost is that of the route's rule. By default a call
// costs what the rule of its route says, or 1. f must be safe for concurrent use.
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
// By default the size is known only where the gate comes before the message is read
// and there is a Content-Length, or no body at all. A size that is not known, or that f
// returns as a negative number, counts as [WithUnknownSize] says. f must be safe for
// concurrent use.
func WithSize(f func(request any) int64) Option {
	return host.OptionFunc(func(c *host.Config) error {
		if f == nil {
			return mistake.Nil("WithSize", "a function")
		}
		c.Size = f
		return nil
	})
}

// WithUnknownSize sets what a request whose size is not known is charged with at gates
// that count bytes (see [gate.WithCost]), in bytes. Such are chunked uploads, streams,
// and gRPC calls before their message is read. The default is
// [gate.DefaultUnknownSize], 64 KiB. Charge what a handler reads at most, for instance
// the limit of http.MaxBytesReader or connect.WithReadMaxBytes: then the requests in
// flight never have more bytes than the gate's limit. It is an error if n is not above
// 0.
func WithUnknownSize(n int64) Option {
	return host.OptionFunc(func(c *host.Config) error {
		if n <= 0 {
			return fmt.Errorf("WithUnknownSize: want a size above 0, got %d", n)
		}
		c.SizeIfUnknown = n
		return nil
	})
}

// WithStateInDetails tells refused clients the name of the gate, its limit and the
// number of units in flight, in the metadata of google.rpc.ErrorInfo. By default
// clients do not learn them.
func WithStateInDetails() Option {
	return host.OptionFunc(func(c *host.Config) error {
		c.StateInDetails = true
		return nil
	})
}

// WithMeterProvider sets the provider for metrics. The default is the global one.
func WithMeterProvider(p metric.MeterProvider) Option {
	return host.OptionFunc(func(c *host.Config) error {
		if p == nil {
			return mistake.Nil("WithMeterProvider", "a provider")
		}
		c.MeterProvider = p
		return nil
	})
}

// WithTracerProvider sets the provider for the spans of waits. The default is the
// global one. Attributes go on the current span of the call, whichever provider it
// comes from.
func WithTracerProvider(p trace.TracerProvider) Option {
	return host.OptionFunc(func(c *host.Config) error {
		if p == nil {
			return mistake.Nil("WithTracerProvider", "a provider")
		}
		c.TracerProvider = p
		return nil
	})
}

// WithoutTelemetry turns off metrics, spans and span attributes.
func WithoutTelemetry() Option {
	return host.OptionFunc(func(c *host.Config) error {
		c.WithoutTelemetry = true
		return nil
	})
}

func noHeader(option string) error {
	return fmt.Errorf("%s: want the name of a header, got %q", option, "")
}
