// Package host is what the interceptors for grpc-go, Connect and net/http have
// in common: their options, what they tell the gate about a call, and the way
// from an Admitter to a lease with its telemetry.
package host

import (
	"context"
	"net/netip"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/internal/mistake"
)

// Option configures an interceptor. Package interceptor has the type that users see,
// and its functions. The interface is sealed: only this module can name Config.
type Option interface{ Apply(*Config) error }

// OptionFunc is an Option made of a function.
type OptionFunc func(*Config) error

// Apply calls f.
func (f OptionFunc) Apply(c *Config) error { return f(c) }

// Metadata gives a host's options access to what the client sent: gRPC metadata
// or HTTP headers. Get returns the first value of a key, or "".
type Metadata interface{ Get(key string) string }

// multiMetadata is Metadata that has all values of a key.
type multiMetadata interface {
	Metadata
	Values(key string) []string
}

// Config is what the options set.
type Config struct {
	// Key finds the key of a call; nil: calls have none.
	Key func(ctx context.Context, call gate.Call, md Metadata) string
	// PriorityHeader names the header that clients set the priority with;
	// empty: they cannot.
	PriorityHeader string
	// TrustedProxies are the peers whose X-Forwarded-For is believed.
	TrustedProxies []netip.Prefix
	// Cost and Size find those of a call from its request; nil: 1 and unknown.
	Cost func(ctx context.Context, route string, request any) int64
	Size func(request any) int64
	// StateInDetails lets clients see the gate's name and numbers.
	StateInDetails bool
	// WithoutTelemetry leaves spans and metrics alone.
	WithoutTelemetry bool
	MeterProvider    metric.MeterProvider // nil: the global one
	TracerProvider   trace.TracerProvider // nil: the global one
}

func newConfig[O Option](opts []O) (Config, error) {
	var c Config
	err := mistake.InOptions(opts, func(o O) error { return o.Apply(&c) })
	return c, err
}
