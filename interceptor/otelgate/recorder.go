package otelgate

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/trace"

	"github.com/rpcgate/rpcgate/gate"
)

// Recorder is the telemetry of an interceptor: its gates have metrics, and it
// annotates the spans of calls. The nil *Recorder does nothing. A Recorder is safe
// for concurrent use.
type Recorder struct {
	config config
	only   string                     // the gate's name, if there is one gate only
	spans  map[string]*abandonedSpans // by the gate's name
}

// NewRecorder gives metrics to the gates that a lists, or what a wraps: see
// [gate.GateLister] and [gate.Wrapper]. An Admitter that lists none gets no
// metrics, but the spans of its calls are annotated. Gates that have metrics of the
// same provider already are left as they are, so it may be called any number of
// times.
//
// It is an error, and nothing is changed, if a is nil, an option has a bad
// value, or two of the gates have the same name.
func NewRecorder(a gate.Admitter, opts ...Option) (*Recorder, error) {
	c, gates, err := prepare(a, opts)
	if err == nil && !c.noMetrics {
		err = attachMetrics(gates, c)
	}
	if err != nil {
		return nil, fmt.Errorf("otelgate.NewRecorder: %w", err)
	}
	r := &Recorder{config: c, spans: make(map[string]*abandonedSpans)}
	if len(gates) == 1 {
		r.only = gates[0].Name()
	}
	if !c.noSpans {
		for _, g := range gates {
			r.spans[g.Name()] = observeSpans(g, c.tracers)
		}
	}
	return r, nil
}

// Annotate writes the result of an Acquire on the current span of ctx, which is
// the context that the call was acquired with: attributes, the event
// [EventRejected] if the call was rejected, and a child span [SpanWait] if it
// waited. It must be called right after Acquire has returned, since the wait is
// taken to end now.
//
// It does nothing for exempt calls, which get the zero Lease, for errors that
// are no gate's, and if the span is not recording. It does not keep the call.
func (r *Recorder) Annotate(ctx context.Context, call *gate.Call, lease gate.Lease, err error) {
	r.annotate(ctx, call, lease, err, false)
}

// AnnotateClient is [Recorder.Annotate] for a gate in front of a client. A client
// may be used in a handler, and the current span may then be the handler's. The
// attributes of a span of kind server tell of the gate in front of the handler, so
// they are left alone. The client's gate shows there by the event and by the child
// span.
func (r *Recorder) AnnotateClient(ctx context.Context, call *gate.Call, lease gate.Lease, err error) {
	r.annotate(ctx, call, lease, err, true)
}

func (r *Recorder) annotate(ctx context.Context, call *gate.Call, lease gate.Lease, err error, client bool) {
	if r == nil || r.config.noSpans {
		return
	}
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	var o outcome
	if !r.outcome(&o, lease, err) {
		return
	}
	if o.requestID == "" {
		o.requestID = lease.IdentifiedAs(ctx)
	}
	if !client || !isServer(span) {
		o.describe(span)
	}
	if (o.refused() || o.waited > 0) && !r.illustrated(o.gate) {
		o.illustrate(ctx, span, r.config.tracers, call)
	}
}

// AnnotateCutOff writes on the span of ctx that the call was cut off, as gate.reason;
// see [gate.Lease.CutOff].
func (r *Recorder) AnnotateCutOff(ctx context.Context, reason gate.Reason) {
	if r == nil || r.config.noSpans {
		return
	}
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		span.SetAttributes(KeyReason.String(reason.String()))
	}
}

// isServer reports whether the span is of kind server, as far as it says.
func isServer(span trace.Span) bool {
	s, ok := span.(interface{ SpanKind() trace.SpanKind })
	return ok && s.SpanKind() == trace.SpanKindServer
}

// illustrated reports whether the gate has an observer that has illustrated the
// span already.
func (r *Recorder) illustrated(gateName string) bool {
	s := r.spans[gateName]
	return s != nil && s.all.Load()
}

// outcome fills in o as ofAcquire does. The name of the only gate is always known.
func (r *Recorder) outcome(o *outcome, lease gate.Lease, err error) bool {
	ok := o.ofAcquire(lease, err)
	if o.gate == "" {
		o.gate = r.only
	}
	return ok
}

// prepare checks what it is given, and returns the gates that a lists.
func prepare(a gate.Admitter, opts []Option) (config, []*gate.Gate, error) {
	c, err := newConfig(opts)
	if err != nil {
		return c, nil, err
	}
	if a == nil {
		return c, nil, errors.New("the Admitter is nil")
	}
	lister, ok := gate.AdmitterAs[gate.GateLister](a)
	if !ok {
		return c, nil, nil
	}
	gates := lister.Gates()
	byName := make(map[string]*gate.Gate, len(gates))
	for _, g := range gates {
		if other := byName[g.Name()]; other != nil && other != g {
			return c, nil, fmt.Errorf("two gates have the name %q", g.Name())
		}
		byName[g.Name()] = g
	}
	return c, gates, nil
}
