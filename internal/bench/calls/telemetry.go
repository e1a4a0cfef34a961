package calls

import (
	"context"

	"go.opentelemetry.io/otel/trace"

	"github.com/rpcgate/rpcgate/interceptor"
	"github.com/rpcgate/rpcgate/internal/bench/telemetry"
)

// told is what a call's surroundings tell of it: to an SDK, or to nobody.
type told struct {
	sdk    *telemetry.SDK // nil: the program has none
	tracer trace.Tracer   // of the call's span
}

func toNobody() told { return told{} }

func toSDK(sdk *telemetry.SDK) told { return told{sdk, sdk.Tracers.Tracer("bench")} }

// options are for the interceptor.
func (t told) options() []interceptor.Option {
	if t.sdk == nil {
		return nil // the global providers, which do nothing
	}
	return t.sdk.Options()
}

// call runs f, with an SDK in a span of its own.
func (t told) call(ctx context.Context, f func(context.Context)) {
	if t.sdk == nil {
		f(ctx)
		return
	}
	ctx, span := t.tracer.Start(ctx, "call", trace.WithSpanKind(trace.SpanKindServer))
	f(ctx)
	span.End()
}

// targets are those for what grpcgate adds.
func (t told) targets() targets {
	if t.sdk == nil {
		return targets{ns: 80, allocs: 1}
	}
	return targets{ratio: 1.3}
}
