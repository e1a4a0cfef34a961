package host

import (
	"errors"
	"fmt"
	"reflect"

	"go.opentelemetry.io/otel"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/internal/mistake"
	"github.com/rpcgate/rpcgate/interceptor/otelgate"
)

// Host is an Admitter with what an interceptor needs around it. It is safe for
// concurrent use.
type Host struct {
	Config
	admitter gate.Admitter
	recorder *otelgate.Recorder // nil: without telemetry

	policy *gate.Policy // the Admitter, if it is one: Acquire finds exempt routes

	describes    bool // Describe does something
	exempts      func(route string) bool
	exemptsProbe func(path string) bool
	streamMode   func(route string) gate.StreamMode
	early        gate.EarlyRefuser // nil: never refuses early
}

// Must makes the Host of a constructor in package pkg. It calls [mistake.Panic] if the
// Admitter is nil or an option has a bad value.
func Must[O Option](pkg string, a gate.Admitter, opts []O) *Host {
	h, err := New(a, opts)
	mistake.Panic(pkg, err)
	return h
}

// New is Must for constructors with other arguments to check. It returns all mistakes
// joined.
func New[O Option](a gate.Admitter, opts []O) (*Host, error) {
	c, err := newConfig(opts)
	bad := checkAdmitter(a)
	if bad == nil {
		bad = c.checkKeys(a)
	}
	if err := errors.Join(bad, err); err != nil {
		return nil, err
	}
	h := &Host{
		Config: c, admitter: a, describes: c.describes(),
		exempts: gate.ExemptByDefault, exemptsProbe: gate.IsHTTPProbe, streamMode: holdStream,
	}
	h.policy, _ = a.(*gate.Policy)
	if e, ok := gate.AdmitterAs[gate.Exempter](a); ok {
		h.exempts = e.Exempts
	}
	if e, ok := gate.AdmitterAs[gate.ProbeExempter](a); ok {
		h.exemptsProbe = e.ExemptsProbe
	}
	if m, ok := gate.AdmitterAs[gate.StreamModer](a); ok {
		h.streamMode = m.StreamMode
	}
	h.early, _ = gate.AdmitterAs[gate.EarlyRefuser](a)
	if !c.WithoutTelemetry {
		h.recorder = newRecorder(a, c)
	}
	return h, nil
}

// checkAdmitter finds nil, and nil pointers such as the *gate.Gate of a program that
// ignores the error of gate.New.
func checkAdmitter(a gate.Admitter) error {
	const what, want = "Admitter", "a gate or a policy"
	if a == nil {
		return mistake.Nil(what, want)
	}
	if v := reflect.ValueOf(a); v.Kind() == reflect.Pointer && v.IsNil() {
		return fmt.Errorf("%s: want %s, got a nil %T", what, want, a)
	}
	return nil
}

// newRecorder attaches telemetry. An error goes where OpenTelemetry's own errors go:
// it is no reason not to serve.
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

func holdStream(string) gate.StreamMode { return gate.HoldStream }
