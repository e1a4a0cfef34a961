package interceptor

import (
	"context"
	"fmt"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/internal/host"
	"github.com/rpcgate/rpcgate/interceptor/internal/mistake"
)

// The prefixes by which [WithKeyFromRemoteIP] tells clients apart.
const (
	DefaultIPv4Prefix = 32
	DefaultIPv6Prefix = 64
)

// WithKeyFromRemoteIP uses the caller's address as the key of its calls, so that
// [gate.WithKeyLimit] limits each client. Behind a proxy it needs
// [WithTrustedProxies]. By default calls have no key.
//
// IPv6 addresses count by their /64, since a client has at least that many; the key is
// then the prefix, as in "2001:db8:0:1::/64". A link-local address counts by itself. An
// IPv4 address counts by itself, also if it is written as an IPv6 one. Callers without
// an address, such as those on a Unix socket, have no key.
func WithKeyFromRemoteIP() Option {
	return keyFromRemoteIP("WithKeyFromRemoteIP", DefaultIPv4Prefix, DefaultIPv6Prefix)
}

// WithKeyFromRemoteIPPrefix is [WithKeyFromRemoteIP] with prefixes of other lengths:
// 1 to 32 bits of an IPv4 address and 1 to 128 bits of an IPv6 one. An IPv6 site often
// has a /56 or a /48.
func WithKeyFromRemoteIPPrefix(ipv4, ipv6 int) Option {
	return keyFromRemoteIP("WithKeyFromRemoteIPPrefix", ipv4, ipv6)
}

func keyFromRemoteIP(option string, ipv4, ipv6 int) Option {
	return host.OptionFunc(func(c *host.Config) error {
		if ipv4 < 1 || ipv4 > 32 || ipv6 < 1 || ipv6 > 128 {
			return fmt.Errorf("%s: want prefixes of 1 to 32 and 1 to 128 bits, got %d and %d", option, ipv4, ipv6)
		}
		return c.SetKey(option, func(ctx context.Context, call gate.Call, _ host.Metadata) string {
			return host.AddressKey(call.Resolved(ctx).RemoteIP, ipv4, ipv6)
		})
	})
}

// WithKeyFromHeader uses the value of a header as the key of a call. Only use a header
// that clients cannot set, such as one that a proxy overwrites: a client that can set
// it gets unlimited keys. A call without the header has no key. By default calls have
// no key.
func WithKeyFromHeader(name string) Option {
	return host.OptionFunc(func(c *host.Config) error {
		if name == "" {
			return noHeader("WithKeyFromHeader")
		}
		return c.SetKey("WithKeyFromHeader", func(_ context.Context, _ gate.Call, md host.Metadata) string {
			return md.Get(name)
		})
	})
}

// WithKeyFunc finds the key of a call with f, for instance in the context, where an
// authentication interceptor further out has put it. A call for which f returns "" has
// no key. f must be safe for concurrent use.
func WithKeyFunc(f func(ctx context.Context, call gate.Call, md Metadata) string) Option {
	return host.OptionFunc(func(c *host.Config) error {
		if f == nil {
			return mistake.Nil("WithKeyFunc", "a function")
		}
		return c.SetKey("WithKeyFunc", func(ctx context.Context, call gate.Call, md host.Metadata) string {
			return f(ctx, call, md)
		})
	})
}
