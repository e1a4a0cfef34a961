package grpcgate_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/rpcgate/rpcgate/gate"
	testv1 "github.com/rpcgate/rpcgate/gen/rpcgate/test/v1"
	"github.com/rpcgate/rpcgate/interceptor"
	"github.com/rpcgate/rpcgate/interceptor/grpcgate"
	"github.com/rpcgate/rpcgate/internal/conformance"
)

// decisions gathers the calls that a gate decides about.
func decisions(calls *[]gate.Call) gate.Option {
	return gate.WithOnEvent(func(_ context.Context, e gate.Event) {
		if e.Kind == gate.EventDecision {
			*calls = append(*calls, e.Call)
		}
	})
}

func TestMistakesPanicAndSayWhatIsWrong(t *testing.T) {
	g := newGate(t, "db")
	var none *gate.Gate
	const noGate = "grpcgate: Admitter: want a gate or a policy, got nil"
	for _, test := range []struct {
		want string
		f    func()
	}{
		{noGate, func() { grpcgate.ServerOptions(nil) }},
		{"grpcgate: Admitter: want a gate or a policy, got a nil *gate.Gate", func() { grpcgate.UnaryServerInterceptor(none) }},
		{noGate, func() { grpcgate.StreamServerInterceptor(nil) }},
		{noGate, func() { grpcgate.UnaryClientInterceptor(nil) }},
		{noGate, func() { grpcgate.StreamClientInterceptor(nil) }},
		{noGate, func() { grpcgate.TapHandle(nil) }},
		{noGate, func() { grpcgate.BeforeDecode(grpc.NewServer(), nil) }},
		{"grpcgate: BeforeDecode: want a registrar, got nil", func() { grpcgate.BeforeDecode(nil, g) }},
		{"grpcgate: option 0: want an Option, got nil", func() { grpcgate.ServerOptions(g, nil) }},
		{
			"grpcgate: BeforeDecode: want a registrar, got nil\n" + noGate + "\ngrpcgate: WithKeyFunc: want a function, got nil",
			func() { grpcgate.BeforeDecode(nil, nil, interceptor.WithKeyFunc(nil)) },
		},
	} {
		func() {
			defer func() {
				if got := recover(); got != test.want {
					t.Errorf("panic %q, want %q", got, test.want)
				}
			}()
			test.f()
		}()
	}
}

func TestOneAdmitterGatesACallOnlyOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newGate(t, "db", gate.WithMaxWait(0))
		c := serve(t, nil, append(grpcgate.ServerOptions(g), grpcgate.ServerOptions(g)...))
		if _, err := c.Unary(t.Context(), &testv1.UnaryRequest{}); err != nil {
			t.Error(err)
		}
		stream, err := c.ServerStream(t.Context(), &testv1.ServerStreamRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Recv(); err != nil {
			t.Error(err)
		}
		stream.Recv()
		if n := g.Snapshot().Totals.Accepted; n != 2 {
			t.Errorf("%d admitted, want 2", n)
		}
	})
}

func TestUnknownServicesAreMarkedForTelemetry(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var calls []gate.Call
		g := newGate(t, "db", decisions(&calls))
		unknown := grpc.UnknownServiceHandler(func(any, grpc.ServerStream) error {
			return status.Error(codes.NotFound, "no such service")
		})
		s := grpc.NewServer(append(grpcgate.ServerOptions(g), unknown)...)
		conn := dial(t, s)
		err := conn.Invoke(t.Context(), "/made.up/Name", &testv1.UnaryRequest{}, &testv1.UnaryResponse{})
		wantCode(t, err, codes.NotFound)
		if len(calls) != 1 || !calls[0].UnknownRoute || calls[0].Route != "/made.up/Name" {
			t.Errorf("got the calls %+v, want one of an unknown route", calls)
		}
	})
}

func TestCostAndSizeComeFromTheRequest(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var calls []gate.Call
		g := newGate(t, "db", decisions(&calls))
		options := grpcgate.ServerOptions(g,
			interceptor.WithCost(func(_ context.Context, route string, request any) int64 {
				if route != testv1.EchoService_Unary_FullMethodName {
					t.Errorf("route %q", route)
				}
				return int64(len(request.(*testv1.UnaryRequest).GetText()))
			}),
			interceptor.WithSize(func(m any) int64 { return int64(proto.Size(m.(proto.Message))) }))
		c := serve(t, nil, options)
		if _, err := c.Unary(t.Context(), &testv1.UnaryRequest{Text: "hello"}); err != nil {
			t.Fatal(err)
		}
		if len(calls) != 1 || calls[0].Cost != 5 || calls[0].Size != 7 {
			t.Errorf("got the calls %+v, want cost 5 and size 7", calls)
		}
	})
}

func TestEachMessageOfAHoldMessageStreamIsWeighed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var calls []gate.Call
		g := newGate(t, "db", decisions(&calls))
		p, err := gate.NewPolicy(gate.Route("*", g).Stream(gate.HoldMessage))
		if err != nil {
			t.Fatal(err)
		}
		c := serve(t, nil, grpcgate.ServerOptions(p,
			interceptor.WithSize(func(m any) int64 { return int64(len(m.(*testv1.ClientStreamRequest).GetText())) })))
		stream, err := c.ClientStream(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"a", "abc"} {
			if err := stream.Send(&testv1.ClientStreamRequest{Text: text}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := stream.CloseAndRecv(); err != nil {
			t.Fatal(err)
		}
		if len(calls) != 2 || calls[0].Size != 1 || calls[1].Size != 3 {
			t.Errorf("got the calls %+v, want the sizes 1 and 3", calls)
		}
	})
}

// If an interceptor further out wraps an error, grpc-go sends its whole text. So the
// text of a refusal must be harmless.
func TestRefusalWrappedByAnOuterInterceptorTellsNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newGate(t, "secret-db", gate.WithMaxWait(0))
		defer fill(t, g)()
		wrap := grpc.ChainUnaryInterceptor(func(
			ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler,
		) (any, error) {
			_, err := handler(ctx, req)
			var r *gate.Rejection
			if !errors.As(err, &r) || r.Gate != "secret-db" {
				t.Errorf("got %v, want a *gate.Rejection of secret-db", err)
			}
			return nil, fmt.Errorf("in %s: %w", "stats", err)
		})
		c := serve(t, nil, append([]grpc.ServerOption{wrap}, grpcgate.ServerOptions(g)...))
		_, err := c.Unary(t.Context(), &testv1.UnaryRequest{})
		wantCode(t, err, codes.ResourceExhausted)
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("the client sees %v", err)
		}
	})
}

// Without a server around it, as in a user's test, an interceptor cannot set trailers.
func TestInterceptorsWorkWithoutAServer(t *testing.T) {
	g := newGate(t, "db", gate.WithMaxWait(0))
	unary := grpcgate.UnaryServerInterceptor(g)
	info := &grpc.UnaryServerInfo{FullMethod: "/a.B/C"}
	handler := func(context.Context, any) (any, error) { return "done", nil }
	if got, err := unary(t.Context(), nil, info, handler); got != "done" || err != nil {
		t.Errorf("got %v and error %v", got, err)
	}
	release := fill(t, g)
	_, err := unary(t.Context(), nil, info, handler)
	wantCode(t, err, codes.ResourceExhausted)

	ss := &lonelyStream{ctx: t.Context()}
	err = grpcgate.StreamServerInterceptor(g)(t, ss, &grpc.StreamServerInfo{FullMethod: "/a.B/D"},
		func(any, grpc.ServerStream) error { return nil })
	wantCode(t, err, codes.ResourceExhausted)
	if got := ss.trailer.Get(pushback); len(got) != 1 {
		t.Errorf("pushback %q, want one value", got)
	}
	release()
}

// An interceptor further out must be able to tell that the caller has gone.
func TestCallerThatHasGoneIsAStatusAndAContextError(t *testing.T) {
	for want, end := range map[codes.Code]func(context.Context) (context.Context, context.CancelFunc){
		codes.Canceled: context.WithCancel,
		codes.DeadlineExceeded: func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithDeadline(ctx, time.Now().Add(-time.Second))
		},
	} {
		t.Run(want.String(), func(t *testing.T) {
			g := newGate(t, "db")
			ctx, cancel := end(t.Context())
			cancel()
			_, err := grpcgate.UnaryServerInterceptor(g)(ctx, nil, &grpc.UnaryServerInfo{FullMethod: "/a.B/C"},
				func(context.Context, any) (any, error) { return nil, nil })
			wantCode(t, err, want)
			if !errors.Is(err, ctx.Err()) {
				t.Errorf("got %v, want an error that is %v", err, ctx.Err())
			}
			if got := g.Snapshot().Totals; got.Abandoned != 1 || got.RejectedBusy != 0 {
				t.Errorf("the gate counted %+v, want one abandoned", got)
			}
		})
	}
}

// A handler that waits for a bare gate of its own and loses its caller returns
// the bare error of its context.
func TestHandlerErrorsAreLeftToGRPC(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newGate(t, "db")
		c := serve(t, func(ctx context.Context, _ conformance.Shape, _ conformance.Stream) error {
			return fmt.Errorf("waiting: %w", context.Canceled)
		}, grpcgate.ServerOptions(g))
		_, err := c.Unary(t.Context(), &testv1.UnaryRequest{})
		wantCode(t, err, codes.Canceled)
	})
}
