package grpcgate_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/rpcgate/rpcgate/gate"
	testv1 "github.com/rpcgate/rpcgate/gen/rpcgate/test/v1"
	"github.com/rpcgate/rpcgate/interceptor/grpcgate"
	"github.com/rpcgate/rpcgate/internal/conformance"
)

// The clients of this file are grpc-go's own, with a retryPolicy in their
// service config.

const pushback = "grpc-retry-pushback-ms"

func TestRefusedClientWaitsTheServersDelayAndSucceeds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newGate(t, "db", gate.WithMaxWait(0), gate.WithRetryDelay(3*time.Second, 3*time.Second))
		n := 0
		c := serve(t, nil, append([]grpc.ServerOption{attempts(&n)}, grpcgate.ServerOptions(g)...),
			retryPolicy("RESOURCE_EXHAUSTED"))
		start := time.Now()
		time.AfterFunc(5*time.Second, fill(t, g))
		if _, err := c.Unary(t.Context(), &testv1.UnaryRequest{}); err != nil {
			t.Fatal(err)
		}
		wantTook(t, start, 6*time.Second) // refused at 0 s and 3 s
		if n != 3 {
			t.Errorf("%d attempts, want 3", n)
		}
	})
}

func TestRefusedStreamsAreRetriedAfterTheServersDelay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newGate(t, "db", gate.WithMaxWait(0), gate.WithRetryDelay(3*time.Second, 3*time.Second))
		c := serve(t, nil, grpcgate.ServerOptions(g), retryPolicy("RESOURCE_EXHAUSTED"))
		start := time.Now()
		time.AfterFunc(time.Second, fill(t, g))
		stream, err := c.BidiStream(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		// The client side stays open, and what was sent is sent again.
		if err := stream.Send(&testv1.BidiStreamRequest{Text: "hello"}); err != nil {
			t.Fatal(err)
		}
		if resp, err := stream.Recv(); err != nil || resp.GetText() != "hello" {
			t.Fatalf("got %v and error %v", resp, err)
		}
		wantTook(t, start, 3*time.Second)
		if err := stream.CloseSend(); err != nil {
			t.Fatal(err)
		}
		stream.Recv()
	})
}

// A retry that comes after the deadline would hide the refusal behind a
// DeadlineExceeded, as grpc-go waits for it all the same.
func TestClientWithANearerDeadlineIsNotRetriedAndSeesTheRefusal(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newGate(t, "db", gate.WithMaxWait(0))
		defer fill(t, g)()
		n := 0
		c := serve(t, nil, append([]grpc.ServerOption{attempts(&n)}, grpcgate.ServerOptions(g)...),
			retryPolicy("RESOURCE_EXHAUSTED"))
		start := time.Now()
		_, err := c.Unary(within(t, 900*time.Millisecond), &testv1.UnaryRequest{})
		wantCode(t, err, codes.ResourceExhausted)
		wantTook(t, start, 0)
		if n != 1 {
			t.Errorf("%d attempts, want 1", n)
		}
	})
}

func TestUnavailableIsRetriedToo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newGate(t, "db", gate.WithMaxWait(0), gate.WithRefusal(gate.ServiceUnavailable),
			gate.WithRetryDelay(2*time.Second, 2*time.Second))
		c := serve(t, nil, grpcgate.ServerOptions(g), retryPolicy("UNAVAILABLE"))
		start := time.Now()
		time.AfterFunc(time.Second, fill(t, g))
		if _, err := c.Unary(t.Context(), &testv1.UnaryRequest{}); err != nil {
			t.Fatal(err)
		}
		wantTook(t, start, 2*time.Second)
	})
}

// A request-id interceptor in front of the gate that answers with a header is
// enough to turn retries off; with a trailer it is fine. This is what the package
// comment warns of.
func TestHeaderBeforeTheGateTurnsRetriesOffAndATrailerDoesNot(t *testing.T) {
	for name, set := range map[string]func(context.Context, metadata.MD) error{
		"header": grpc.SetHeader, "trailer": grpc.SetTrailer,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				g := newGate(t, "db", gate.WithMaxWait(0))
				time.AfterFunc(time.Second/2, fill(t, g))
				requestID := grpc.ChainUnaryInterceptor(func(
					ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler,
				) (any, error) {
					if err := set(ctx, metadata.Pairs("x-request-id", "7")); err != nil {
						t.Error(err)
					}
					return handler(ctx, req)
				})
				c := serve(t, nil, append([]grpc.ServerOption{requestID}, grpcgate.ServerOptions(g)...),
					retryPolicy("RESOURCE_EXHAUSTED"))
				_, err := c.Unary(t.Context(), &testv1.UnaryRequest{})
				if name == "header" {
					wantCode(t, err, codes.ResourceExhausted)
					time.Sleep(time.Second)
				} else if err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// refusedBy makes a call that is refused and returns its pushback and its delay.
func refusedBy(t *testing.T, c testv1.EchoServiceClient) (values []string, delay time.Duration) {
	t.Helper()
	var header, trailer metadata.MD
	_, err := c.Unary(t.Context(), &testv1.UnaryRequest{}, grpc.Header(&header), grpc.Trailer(&trailer))
	wantCode(t, err, codes.ResourceExhausted)
	if len(header) > 0 {
		t.Errorf("got the header %v: the response is not Trailers-Only", map[string][]string(header))
	}
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.RetryInfo); ok {
			delay = info.GetRetryDelay().AsDuration()
		}
	}
	return trailer.Get(pushback), delay
}

func TestNestedGatesSendOnePushback(t *testing.T) {
	for name, full := range map[string]string{"inner full": "inner", "outer full": "outer"} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				outer, inner := newGate(t, "outer", gate.WithMaxWait(0)), newGate(t, "inner", gate.WithMaxWait(0))
				defer fill(t, map[string]*gate.Gate{"outer": outer, "inner": inner}[full])()
				c := serve(t, nil, append(grpcgate.ServerOptions(outer), grpcgate.ServerOptions(inner)...))
				values, delay := refusedBy(t, c)
				if len(values) != 1 {
					t.Fatalf("pushback %q, want one value", values)
				}
				if ms := delay.Milliseconds(); values[0] != strconv.FormatInt(ms, 10) {
					t.Errorf("pushback %s, but RetryInfo says %d ms", values[0], ms)
				}
			})
		})
	}
}

func TestPushbackThatIsSetAlreadyIsKeptAndRetryInfoSaysTheSame(t *testing.T) {
	bubble(t, func(t *testing.T) {
		outer, inner := newGate(t, "outer"), newGate(t, "inner", gate.WithMaxWait(0))
		defer fill(t, inner)()
		c := serve(t, func(ctx context.Context, _ conformance.Shape, _ conformance.Stream) error {
			if err := grpc.SetTrailer(ctx, metadata.Pairs(pushback, "12345")); err != nil {
				t.Error(err)
			}
			return inner.Do(ctx, gate.Call{}, nil)
		}, grpcgate.ServerOptions(outer))
		values, delay := refusedBy(t, c)
		if len(values) != 1 || values[0] != "12345" {
			t.Errorf("pushback %q, want the first one only", values)
		}
		if delay != 12345*time.Millisecond {
			t.Errorf("RetryInfo %s, want what the pushback says", delay)
		}
	})
}

// An interceptor between the gates that answers with a status of its own has
// decided what clients see.
func TestStatusOfAnInterceptorBetweenIsLeftAlone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		outer, inner := newGate(t, "outer"), newGate(t, "inner", gate.WithMaxWait(0))
		defer fill(t, inner)()
		between := grpc.ChainUnaryInterceptor(func(
			ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler,
		) (any, error) {
			_, err := handler(ctx, req)
			if !errors.Is(err, gate.ErrBusy) {
				t.Errorf("got %v, want an error that is gate.ErrBusy", err)
			}
			return nil, status.Error(codes.Aborted, "try another server")
		})
		options := append(grpcgate.ServerOptions(outer), between)
		c := serve(t, nil, append(options, grpcgate.ServerOptions(inner)...))
		_, err := c.Unary(t.Context(), &testv1.UnaryRequest{})
		wantCode(t, err, codes.Aborted)
	})
}
