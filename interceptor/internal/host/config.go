// Package host has what the interceptors for grpc-go, Connect and net/http share:
// their options, what they tell the gate about a call, and the way from an Admitter
// to a lease and its telemetry.
package host

import (
	"context"
	"net/netip"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/rpcgate/rpcgate/interceptor/internal/mistake"
	"github.com/rpcgate/rpcgate/interceptor/internal/pace"
)

// Option configures an interceptor. Users see the type of package interceptor. The
// interface is sealed: only this module can name Config.
type Option interface{ Apply(*Config) error }

// OptionFunc is a function that is an Option.
type OptionFunc func(*Config) error

// Apply calls f.
func (f OptionFunc) Apply(c *Config) error { return f(c) }

// Metadata is what a client has sent: gRPC metadata or HTTP headers. Get returns the
// first value of a key, or "".
type Metadata interface{ Get(key string) string }

// multiMetadata is Metadata with access to all values of a key.
type multiMetadata interface {
	Metadata
	Values(key string) []string
}

// Config has what the options set.
type Config struct {
	// Key finds the key of a call. If it is nil, calls have none.
	Key       KeyFunc
	keyOption string // the option that has set it; see SetKey
	// PriorityHeader is the header in which clients set the priority. If it is
	// empty, they cannot.
	PriorityHeader string
	// TrustedProxies are the peers whose X-Forwarded-For is trusted.
	TrustedProxies []netip.Prefix
	// Cost and Size find the cost and size of a call from its request. They may
	// be nil.
	Cost func(ctx context.Context, route string, request any) int64
	Size func(request any) int64
	// SizeIfUnknown is what a call of unknown size is charged with. If it is 0,
	// the gate says.
	SizeIfUnknown int64
	// MinRate is how fast a client must send the body of a request.
	MinRate pace.Rate
	// StateInDetails tells clients the gate's name and numbers.
	StateInDetails bool
	// WithoutTelemetry turns off spans and metrics.
	WithoutTelemetry bool
	MeterProvider    metric.MeterProvider // nil: the global one
	TracerProvider   trace.TracerProvider // nil: the global one
}

// describes reports whether the options say anything about a call.
func (c *Config) describes() bool {
	return c.PriorityHeader != "" || c.Key != nil || c.Cost != nil || c.Size != nil || c.SizeIfUnknown != 0
}

func newConfig[O Option](opts []O) (Config, error) {
	c := Config{MinRate: pace.DefaultRate()}
	err := mistake.InOptions(opts, func(o O) error { return o.Apply(&c) })
	return c, err
}
