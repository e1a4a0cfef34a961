package host

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/sdk/trace"

	"github.com/rpcgate/rpcgate/gate"
)

// failing is a span processor that panics at the span of a wait.
type failing struct{ trace.SpanProcessor }

func (failing) OnStart(_ context.Context, s trace.ReadWriteSpan) {
	if s.Name() == "gate.wait" {
		panic("a processor's panic")
	}
}

func (failing) OnEnd(trace.ReadOnlySpan) {}

func TestTelemetryThatPanicsLosesNoUnit(t *testing.T) {
	for name, acquire := range map[string]func(*Host, context.Context, *gate.Call) (gate.Lease, error){
		"server": (*Host).Acquire, "client": (*Host).AcquireClient,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := gate.Must(gate.New("db", 1))
				tracers := trace.NewTracerProvider(trace.WithSpanProcessor(failing{}))
				h := Must("", g, []Option{OptionFunc(func(c *Config) error { c.TracerProvider = tracers; return nil })})
				holder, err := g.TryAcquire(gate.Call{})
				if err != nil {
					t.Fatal(err)
				}
				time.AfterFunc(time.Millisecond, holder.Release)
				ctx, span := tracers.Tracer("").Start(t.Context(), "call")
				defer span.End()
				func() {
					defer func() {
						if r := recover(); r != "a processor's panic" {
							t.Errorf("recovered %v", r)
						}
					}()
					_, _ = acquire(h, ctx, &gate.Call{})
				}()
				if n := g.InFlight(); n != 0 {
					t.Errorf("%d in flight, want none", n)
				}
			})
		})
	}
}
