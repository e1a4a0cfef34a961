package httpgate_test

import (
	"io"
	"net/http"
	"testing"
	"testing/synctest"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/rpcgate/rpcgate/interceptor/connectgate"
	"github.com/rpcgate/rpcgate/interceptor/httpgate"
	"github.com/rpcgate/rpcgate/internal/memhttp"
)

// TestSpanOfASlowSenderSaysWhyItWasCutOff has both kinds of middleware.
func TestSpanOfASlowSenderSaysWhyItWasCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		for name, gated := range map[string]func(http.Handler) http.Handler{
			"httpgate": httpgate.NewMiddleware(g), "connectgate": connectgate.NewMiddleware(g),
		} {
			spans := tracetest.NewSpanRecorder()
			tracer := trace.NewTracerProvider(trace.WithSpanProcessor(spans)).Tracer("test")
			inner := gated(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.ReadAll(r.Body) }))
			s := memhttp.Start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				ctx, span := tracer.Start(r.Context(), "call")
				defer span.End()
				inner.ServeHTTP(w, r.WithContext(ctx))
			}))
			c := dialRaw(t, s)
			c.send("POST /a.Service/Method HTTP/1.1\nHost: test\nContent-Type: application/json\nContent-Length: 10\n\nx")
			c.answer()
			c.leave()
			ended := spans.Ended()
			if len(ended) != 1 {
				t.Fatalf("%s: %d spans, want 1", name, len(ended))
			}
			got := attribute.NewSet(ended[0].Attributes()...)
			decision, _ := got.Value("gate.decision")
			reason, _ := got.Value("gate.reason")
			if decision.AsString() != "accepted" || reason.AsString() != "slow_request" {
				t.Errorf("%s: decision %q and reason %q, want accepted and slow_request", name, decision.AsString(), reason.AsString())
			}
		}
	})
}
