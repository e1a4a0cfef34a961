package grpcgate_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/grpcgate"
)

// lonelyStream is a stream without a server around it, whose context does not end
// with the handler.
type lonelyStream struct {
	grpc.ServerStream
	ctx     context.Context
	trailer metadata.MD
	sent    error // what SendMsg returns
}

func (s *lonelyStream) Context() context.Context  { return s.ctx }
func (s *lonelyStream) SetTrailer(md metadata.MD) { s.trailer = metadata.Join(s.trailer, md) }
func (s *lonelyStream) RecvMsg(any) error         { return nil }
func (s *lonelyStream) SendMsg(any) error         { return s.sent }

func TestNestedGatesSendOnePushbackWithoutAServer(t *testing.T) {
	outer, inner := newGate(t, "outer"), newGate(t, "inner", gate.WithMaxWait(0))
	defer fill(t, inner)()
	info := &grpc.StreamServerInfo{FullMethod: "/a.B/C"}
	ss := &lonelyStream{ctx: t.Context()}
	err := grpcgate.StreamServerInterceptor(outer)(t, ss, info, func(srv any, ss grpc.ServerStream) error {
		return grpcgate.StreamServerInterceptor(inner)(srv, ss, info, nil)
	})
	wantCode(t, err, codes.ResourceExhausted)
	if got := ss.trailer.Get(pushback); len(got) != 1 {
		t.Errorf("pushback %q, want one value", got)
	}
}

// A goroutine of the handler may still be receiving when the handler returns. A lease
// that it gets then must be released at once.
func TestMessageThatIsAdmittedAfterTheHandlerHoldsNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newGate(t, "db", gate.WithMaxWait(time.Minute))
		release := fill(t, g)
		p, err := gate.NewPolicy(gate.Route("*", g).Stream(gate.HoldMessage))
		must(t, err)
		received := make(chan error)
		must(t, grpcgate.StreamServerInterceptor(p)(t, &lonelyStream{ctx: t.Context()},
			&grpc.StreamServerInfo{FullMethod: "/a.B/C"},
			func(_ any, ss grpc.ServerStream) error {
				go func() { received <- ss.RecvMsg(nil) }()
				synctest.Wait()
				return nil
			}))
		if n := g.Waiting(); n != 1 {
			t.Fatalf("%d waiting, want 1", n)
		}
		release()
		must(t, <-received)
		if got := g.Snapshot().Totals.Accepted; got != 2 {
			t.Errorf("%d admitted, want the filler and the message", got)
		}
		wantInFlight(t, g, 0)
	})
}

func TestHoldOpeningEndsWithTheFirstMessageAlsoIfItIsNotSent(t *testing.T) {
	for name, test := range map[string]struct {
		message any // nil is sent as an empty message
		sent    error
	}{
		"message":             {"a", nil},
		"empty message":       {nil, nil},
		"message that failed": {"a", status.Error(codes.ResourceExhausted, "too large")},
	} {
		g := newGate(t, "db")
		p, err := gate.NewPolicy(gate.Route("*", g).Stream(gate.HoldOpening))
		must(t, err)
		must(t, grpcgate.StreamServerInterceptor(p)(t, &lonelyStream{ctx: t.Context(), sent: test.sent},
			&grpc.StreamServerInfo{FullMethod: "/a.B/C"},
			func(_ any, ss grpc.ServerStream) error {
				if n := g.InFlight(); n != 1 {
					t.Errorf("%s: %d in flight before it was sent, want 1", name, n)
				}
				if err := ss.SendMsg(test.message); err != test.sent { //nolint:errorlint // as it came
					t.Errorf("%s: SendMsg returned %v, want %v", name, err, test.sent)
				}
				if n := g.InFlight(); n != 0 {
					t.Errorf("%s: %d in flight after it was sent", name, n)
				}
				return nil
			}))
	}
}
