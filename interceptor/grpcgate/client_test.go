package grpcgate_test

import (
	"context"
	"errors"
	"strings"
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

// budget is the dial options that put g in front of a client's calls.
func budget(g gate.Admitter) []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(grpcgate.UnaryClientInterceptor(g)),
		grpc.WithChainStreamInterceptor(grpcgate.StreamClientInterceptor(g)),
	}
}

func TestClientsGateHoldsALeaseForTheWholeCall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newGate(t, "downstream")
		c := serve(t, func(ctx context.Context, shape conformance.Shape, s conformance.Stream) error {
			if n := g.InFlight(); n != 1 {
				t.Errorf("%d in flight during the call, want 1", n)
			}
			return conformance.Echo(ctx, shape, s)
		}, nil, budget(g)...)
		if _, err := c.Unary(t.Context(), &testv1.UnaryRequest{}); err != nil {
			t.Fatal(err)
		}
		if n := g.InFlight(); n != 0 {
			t.Errorf("%d in flight after the call", n)
		}
	})
}

func TestClientWaitsForItsGate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newGate(t, "downstream")
		c := serve(t, nil, nil, budget(g)...)
		start := time.Now()
		time.AfterFunc(70*time.Millisecond, fill(t, g))
		if _, err := c.Unary(t.Context(), &testv1.UnaryRequest{}); err != nil {
			t.Fatal(err)
		}
		wantTook(t, start, 70*time.Millisecond)
	})
}

func TestLocalRefusalIsNotSentAndNotTakenForTheServers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		local, remote := newGate(t, "secret-local", gate.WithMaxWait(0)), newGate(t, "remote", gate.WithMaxWait(0))
		n := 0
		c := serve(t, nil, append([]grpc.ServerOption{attempts(&n)}, grpcgate.ServerOptions(remote)...),
			append(budget(local), retryPolicy("RESOURCE_EXHAUSTED"))...)
		release := fill(t, local)
		_, err := c.Unary(within(t, 500*time.Millisecond), &testv1.UnaryRequest{})
		wantCode(t, err, codes.ResourceExhausted)
		if n != 0 {
			t.Errorf("%d calls came to the server", n)
		}
		var r *gate.Rejection
		if !grpcgate.IsLocal(err) || !errors.As(err, &r) || r.Gate != "secret-local" || !errors.Is(err, gate.ErrBusy) {
			t.Errorf("got %v: not recognised as a local refusal", err)
		}
		if info := errorInfo(err); info.GetMetadata()["side"] != "client" || info.GetReason() != "LIMIT" {
			t.Errorf("ErrorInfo %v, want side=client and reason LIMIT", info)
		}
		if s := status.Convert(err); s.Message() != "client busy" {
			t.Errorf("text %q, want client busy", s.Message())
		}
		release()

		defer fill(t, remote)()
		_, err = c.Unary(within(t, 500*time.Millisecond), &testv1.UnaryRequest{})
		wantCode(t, err, codes.ResourceExhausted)
		if n != 1 || grpcgate.IsLocal(err) || len(errorInfo(err).GetMetadata()) != 0 {
			t.Errorf("got %v after %d calls: the server's refusal is not recognised", err, n)
		}
	})
}

func errorInfo(err error) *errdetails.ErrorInfo {
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			return info
		}
	}
	return nil
}

func TestOtherErrorsAreNotLocal(t *testing.T) {
	for _, err := range []error{nil, errors.New("x"), status.Error(codes.ResourceExhausted, "server busy"), &gate.Rejection{}} {
		if grpcgate.IsLocal(err) {
			t.Errorf("%v is taken for a local refusal", err)
		}
	}
}

// A handler is busy if the gate of its downstream is full. Its own client is told that,
// with one pushback, and nothing about a downstream.
func TestHandlerThatReturnsALocalRefusalTellsItAsTheServers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		own, downstream := newGate(t, "db"), newGate(t, "secret-downstream", gate.WithMaxWait(0))
		defer fill(t, downstream)()
		back := serve(t, nil, nil, budget(downstream)...)
		front := serve(t, func(ctx context.Context, _ conformance.Shape, _ conformance.Stream) error {
			_, err := back.Unary(ctx, &testv1.UnaryRequest{})
			return err
		}, grpcgate.ServerOptions(own))
		values, _ := refusedBy(t, front)
		if len(values) != 1 {
			t.Errorf("pushback %q, want one value", values)
		}
		_, err := front.Unary(t.Context(), &testv1.UnaryRequest{})
		if s := status.Convert(err); s.Message() != "server busy" || len(errorInfo(err).GetMetadata()) != 0 {
			t.Errorf("the client sees %v with %v", err, errorInfo(err))
		}
		if strings.Contains(err.Error(), "secret") || grpcgate.IsLocal(err) {
			t.Errorf("the client sees %v", err)
		}
	})
}

func TestClientThatLeavesWhileWaitingForItsGateIsNoRejection(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newGate(t, "downstream", gate.WithMaxWait(time.Minute))
		defer fill(t, g)()
		c := serve(t, nil, nil, budget(g)...)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, err := c.Unary(ctx, &testv1.UnaryRequest{})
		wantCode(t, err, codes.Canceled)
		if got := g.Snapshot().Totals; got.Abandoned != 1 || got.RejectedBusy+got.RejectedTimeout != 0 {
			t.Errorf("the gate counted %+v, want one abandoned", got)
		}
	})
}

func TestClientsGateKnowsTheRequestThatIsHandled(t *testing.T) {
	for name, test := range map[string]struct{ incoming, outgoing, want string }{
		"sent":    {"in-1", "out-1", "out-1"},
		"handled": {"in-1", "", "in-1"},
		"none":    {"", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var calls []gate.Call
			g := newGate(t, "downstream", decisions(&calls))
			ctx := t.Context()
			if test.incoming != "" {
				ctx = metadata.NewIncomingContext(ctx, metadata.Pairs("x-request-id", test.incoming))
			}
			if test.outgoing != "" {
				ctx = metadata.AppendToOutgoingContext(ctx, "X-Request-ID", test.outgoing)
			}
			invoke := func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { return nil }
			if err := grpcgate.UnaryClientInterceptor(g)(ctx, "/a.B/C", nil, nil, nil, invoke); err != nil {
				t.Fatal(err)
			}
			if len(calls) != 1 || calls[0].RequestID != test.want || calls[0].RemoteIP != "" || calls[0].Route != "/a.B/C" {
				t.Errorf("got the calls %+v, want request id %q", calls, test.want)
			}
		})
	}
}

func TestPanicBelowTheClientsGateReleasesTheLease(t *testing.T) {
	g := newGate(t, "downstream")
	defer func() {
		if recover() == nil {
			t.Error("the panic was swallowed")
		}
	}()
	invoke := func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { panic("broken") }
	_ = grpcgate.UnaryClientInterceptor(g)(t.Context(), "/a.B/C", nil, nil, nil, invoke)
}

func TestHealthChecksOfAClientPassItsGate(t *testing.T) {
	g := newGate(t, "downstream", gate.WithMaxWait(0))
	defer fill(t, g)()
	invoke := func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { return nil }
	if err := grpcgate.UnaryClientInterceptor(g)(t.Context(), "/grpc.health.v1.Health/Check", nil, nil, nil, invoke); err != nil {
		t.Error(err)
	}
}
