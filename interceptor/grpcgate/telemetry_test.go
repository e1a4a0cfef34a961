package grpcgate_test

import (
	"context"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/rpcgate/rpcgate/gate"
	testv1 "github.com/rpcgate/rpcgate/gen/rpcgate/test/v1"
	"github.com/rpcgate/rpcgate/interceptor"
	"github.com/rpcgate/rpcgate/interceptor/grpcgate"
	"github.com/rpcgate/rpcgate/internal/conformance"
	"github.com/rpcgate/rpcgate/internal/conformance/grpchost"
)

// traced are the server options of otelgrpc with an SDK that keeps the spans.
func traced() (*tracetest.SpanRecorder, grpc.ServerOption) {
	spans := tracetest.NewSpanRecorder()
	provider := trace.NewTracerProvider(trace.WithSpanProcessor(spans))
	return spans, grpc.StatsHandler(otelgrpc.NewServerHandler(otelgrpc.WithTracerProvider(provider)))
}

// attributes are those of a span as text.
func attributes(span trace.ReadOnlySpan) map[string]string {
	attrs := map[string]string{}
	for _, attr := range span.Attributes() {
		attrs[string(attr.Key)] = fmt.Sprint(attr.Value.AsInterface())
	}
	return attrs
}

func named(t *testing.T, spans *tracetest.SpanRecorder, name string) trace.ReadOnlySpan {
	t.Helper()
	ended := spans.Ended()
	i := slices.IndexFunc(ended, func(s trace.ReadOnlySpan) bool { return s.Name() == name })
	if i < 0 {
		t.Fatalf("no span %q among %d", name, len(ended))
	}
	return ended[i]
}

func wantAttributes(t *testing.T, span trace.ReadOnlySpan, want map[string]string) {
	t.Helper()
	got := attributes(span)
	for key, value := range want {
		if got[key] != value {
			t.Errorf("%s is %q, want %q", key, got[key], value)
		}
	}
}

func TestSpanOfTheCallSaysWhatTheGateDid(t *testing.T) {
	for name, beforeDecode := range map[string]bool{"interceptor": false, "before decode": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				spans, otel := traced()
				g := newGate(t, "db")
				var c testv1.EchoServiceClient
				if beforeDecode {
					s := grpc.NewServer(otel)
					testv1.RegisterEchoServiceServer(grpcgate.BeforeDecode(s, g), grpchost.Service{Handler: conformance.Echo})
					c = testv1.NewEchoServiceClient(dial(t, s))
				} else {
					c = serve(t, nil, append(grpcgate.ServerOptions(g), otel))
				}

				time.AfterFunc(40*time.Millisecond, fill(t, g))
				if _, err := c.Unary(t.Context(), &testv1.UnaryRequest{}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Millisecond) // the span ends after the answer
				span := named(t, spans, "rpcgate.test.v1.EchoService/Unary")
				wantAttributes(t, span, map[string]string{
					"gate.name": "db", "gate.decision": "accepted", "gate.waited_ms": "40", "gate.in_flight": "1", "gate.limit": "1",
				})
				wait := named(t, spans, "gate.wait")
				if wait.Parent().SpanID() != span.SpanContext().SpanID() || wait.EndTime().Sub(wait.StartTime()) != 40*time.Millisecond {
					t.Errorf("the wait has the parent %s and took %s", wait.Parent().SpanID(), wait.EndTime().Sub(wait.StartTime()))
				}
			})
		})
	}
}

func TestSpanOfARefusedCallSaysWhy(t *testing.T) {
	bubble(t, func(t *testing.T) {
		spans, otel := traced()
		g := newGate(t, "db", gate.WithMaxWait(0))
		defer fill(t, g)()
		c := serve(t, nil, append(grpcgate.ServerOptions(g), otel))
		_, err := c.Unary(t.Context(), &testv1.UnaryRequest{})
		wantCode(t, err, codes.ResourceExhausted)
		time.Sleep(time.Millisecond)
		span := named(t, spans, "rpcgate.test.v1.EchoService/Unary")
		wantAttributes(t, span, map[string]string{"gate.decision": "rejected_busy", "gate.reason": "limit"})
		if len(attributes(span)["gate.request_id"]) != 32 {
			t.Errorf("request id %q, want the one that was made up", attributes(span)["gate.request_id"])
		}
		if !slices.ContainsFunc(span.Events(), func(e trace.Event) bool { return e.Name == "gate.rejected" }) {
			t.Errorf("no event gate.rejected among %+v", span.Events())
		}
	})
}

// A stream of many messages gets one set of attributes.
func TestSpanOfAHoldMessageStreamIsASummary(t *testing.T) {
	bubble(t, func(t *testing.T) {
		spans, otel := traced()
		g := newGate(t, "db")
		p, err := gate.NewPolicy(gate.Route("*", g).Stream(gate.HoldMessage))
		must(t, err)
		c := serve(t, nil, append(grpcgate.ServerOptions(p), otel))
		stream, err := c.BidiStream(t.Context())
		must(t, err)
		for i := range 50 {
			if i == 7 {
				time.AfterFunc(30*time.Millisecond, fill(t, g))
			}
			must(t, stream.Send(&testv1.BidiStreamRequest{}))
			_, err := stream.Recv()
			must(t, err)
			time.Sleep(time.Millisecond) // the handler asks for the next one
		}
		must(t, stream.CloseSend())
		if _, err := stream.Recv(); err != io.EOF {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
		span := named(t, spans, "rpcgate.test.v1.EchoService/BidiStream")
		wantAttributes(t, span, map[string]string{
			"gate.decision": "accepted", "gate.messages": "50", "gate.waited_ms": "30",
		})
	})
}

// What the gate is asked with is the context of the call, with all that was put
// into it further out.
func TestOptionsSeeTheContextOfTheCall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		type tenant struct{}
		var calls []gate.Call
		g := newGate(t, "db", decisions(&calls), gate.WithKeyLimit(1))
		authenticate := grpc.ChainUnaryInterceptor(func(
			ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler,
		) (any, error) {
			return handler(context.WithValue(ctx, tenant{}, "acme"), req)
		})
		key := interceptor.WithKeyFunc(func(ctx context.Context, _ gate.Call, _ interceptor.Metadata) string {
			return ctx.Value(tenant{}).(string)
		})
		c := serve(t, nil, append([]grpc.ServerOption{authenticate}, grpcgate.ServerOptions(g, key)...))
		if _, err := c.Unary(t.Context(), &testv1.UnaryRequest{}); err != nil {
			t.Fatal(err)
		}
		if len(calls) != 1 || calls[0].Key != "acme" {
			t.Errorf("got the calls %+v, want the key acme", calls)
		}
	})
}
