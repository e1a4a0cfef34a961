package host

import (
	"errors"
	"fmt"
	"strings"

	"go.opentelemetry.io/otel"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/otelgate"
)

// Host is an Admitter as an interceptor uses it. It is safe for concurrent use.
type Host struct {
	Config
	admitter gate.Admitter
	recorder *otelgate.Recorder // nil: without telemetry
	isPolicy bool

	exempts    func(route string) bool
	streamMode func(route string) gate.StreamMode
}

// Must makes the Host of an interceptor, for which pkg stands in messages.
// Mistakes of the program panic: a nil Admitter, or an option with a bad value.
func Must(pkg string, a gate.Admitter, opts []Option) *Host {
	h, err := newHost(a, opts)
	if err != nil {
		panic(fmt.Sprintf("%s: %v", pkg, err))
	}
	return h
}

func newHost(a gate.Admitter, opts []Option) (*Host, error) {
	if g, isGate := a.(*gate.Gate); a == nil || isGate && g == nil {
		return nil, errors.New("the gate is nil")
	}
	p, isPolicy := a.(*gate.Policy)
	if isPolicy && p == nil {
		return nil, errors.New("the policy is nil")
	}
	c, err := newConfig(opts)
	if err != nil {
		return nil, err
	}
	h := &Host{Config: c, admitter: a, isPolicy: isPolicy, exempts: exemptByDefault}
	h.streamMode = func(string) gate.StreamMode { return gate.HoldStream }
	if r, ok := a.(interface{ Exempts(route string) bool }); ok {
		h.exempts = r.Exempts
	}
	if r, ok := a.(interface {
		StreamMode(route string) gate.StreamMode
	}); ok {
		h.streamMode = r.StreamMode
	}
	if !c.WithoutTelemetry {
		h.recorder = newRecorder(a, c)
	}
	return h, nil
}

// newRecorder attaches telemetry. A failure to do so goes where OpenTelemetry's
// own errors go: it is no reason not to serve.
func newRecorder(a gate.Admitter, c Config) *otelgate.Recorder {
	var opts []otelgate.Option
	if c.MeterProvider != nil {
		opts = append(opts, otelgate.WithMeterProvider(c.MeterProvider))
	}
	if c.TracerProvider != nil {
		opts = append(opts, otelgate.WithTracerProvider(c.TracerProvider))
	}
	r, err := otelgate.NewRecorder(a, opts...)
	if err != nil {
		otel.Handle(err)
		return nil
	}
	return r
}

// exemptByDefault is what is exempt at an Admitter that has no say in it, such
// as a single gate: the same as with a Policy.
func exemptByDefault(route string) bool {
	return strings.HasPrefix(route, "/grpc.health.v1.Health/") || strings.HasPrefix(route, "/grpc.reflection.")
}
