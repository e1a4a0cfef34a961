package grpcgate_test

import (
	"context"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"github.com/rpcgate/rpcgate/gate"
	testv1 "github.com/rpcgate/rpcgate/gen/rpcgate/test/v1"
	"github.com/rpcgate/rpcgate/interceptor/grpcgate"
	"github.com/rpcgate/rpcgate/internal/conformance"
	"github.com/rpcgate/rpcgate/internal/conformance/grpchost"
)

func tapped(g gate.Admitter, more ...grpc.ServerOption) []grpc.ServerOption {
	return append(append(more, grpcgate.ServerOptions(g)...), grpc.InTapHandle(grpcgate.TapHandle(g)))
}

// noted counts the calls that a stats handler hears of.
type noted struct {
	stats.Handler
	calls *int
}

func (noted) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (noted) HandleConn(context.Context, stats.ConnStats)                       {}
func (noted) HandleRPC(context.Context, stats.RPCStats)                         {}
func (n noted) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	*n.calls++
	return ctx
}

func TestTapRefusesBeforeThereIsACall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var told []gate.Call
		g := newGate(t, "db", gate.WithMaxWait(0), decisions(&told))
		defer fill(t, g)()
		calls, intercepted := 0, 0
		c := serve(t, nil, tapped(g, grpc.StatsHandler(noted{calls: &calls}), attempts(&intercepted)))
		var trailer metadata.MD
		ctx := metadata.AppendToOutgoingContext(t.Context(), "x-request-id", "req-7")
		_, err := c.Unary(ctx, &testv1.UnaryRequest{}, grpc.Trailer(&trailer))
		wantCode(t, err, codes.ResourceExhausted)
		if calls != 0 || intercepted != 0 {
			t.Errorf("%d calls for the stats handler and %d for an interceptor, want none", calls, intercepted)
		}
		if got := trailer.Get(pushback); len(got) != 0 {
			t.Errorf("pushback %q: the documentation says there is none", got)
		}
		var info *errdetails.RetryInfo
		for _, detail := range status.Convert(err).Details() {
			if d, ok := detail.(*errdetails.RetryInfo); ok {
				info = d
			}
		}
		detailed := grpchost.Tap().Carriers(conformance.Unary).Details
		if d := info.GetRetryDelay().AsDuration(); detailed && (d < time.Second || d > 3*time.Second) {
			t.Errorf("delay %s, want 1 s to 3 s", d)
		}
		if len(told) != 2 || told[1].RequestID != "req-7" || !told[1].UnknownRoute {
			t.Errorf("the gate told of %+v, want the request with an unknown route", told)
		}
	})
}

// TestBackoffOfThePolicyCountsAtTheTap has the two policies that the documentation
// speaks of. grpc-go varies each backoff by a fifth.
func TestBackoffOfThePolicyCountsAtTheTap(t *testing.T) {
	for _, test := range []struct {
		policy      string
		least, most time.Duration
	}{
		{`"initialBackoff": "0.01s", "maxBackoff": "0.1s"`, 80 * time.Millisecond, 180 * time.Millisecond},
		{`"initialBackoff": "1s", "maxBackoff": "5s"`, 9600 * time.Millisecond, 14400 * time.Millisecond},
	} {
		bubble(t, func(t *testing.T) {
			g := newGate(t, "db", gate.WithMaxWait(0))
			defer fill(t, g)()
			c := serve(t, nil, tapped(g), grpc.WithDefaultServiceConfig(`{"methodConfig": [{"name": [{}], "retryPolicy": {
				"maxAttempts": 5, `+test.policy+`, "backoffMultiplier": 2,
				"retryableStatusCodes": ["RESOURCE_EXHAUSTED"]}}]}`))
			start := time.Now()
			_, err := c.Unary(t.Context(), &testv1.UnaryRequest{})
			wantCode(t, err, codes.ResourceExhausted)
			if took := time.Since(start); took < test.least || took > test.most {
				t.Errorf("%s: five attempts took %s, want %s to %s", test.policy, took, test.least, test.most)
			}
			if got := g.Snapshot().Totals.RejectedBusy; got != 5 {
				t.Errorf("%d attempts, want 5", got)
			}
		})
	}
}

// The tap leaves what can wait to the interceptor, and what can be admitted.
func TestTapTakesNothingAndLetsWaitersPass(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newGate(t, "db", gate.WithMaxWait(time.Minute), gate.WithMaxWaiting(1))
		c := serve(t, nil, tapped(g))
		if _, err := c.Unary(t.Context(), &testv1.UnaryRequest{}); err != nil {
			t.Fatal(err)
		}
		release := fill(t, g)
		start := time.Now()
		time.AfterFunc(time.Second, release)
		if _, err := c.Unary(t.Context(), &testv1.UnaryRequest{}); err != nil {
			t.Fatal(err)
		}
		wantTook(t, start, time.Second)
		if got := g.Snapshot().Totals; got.Accepted != 3 || got.RejectedBusy+got.RejectedTimeout+got.Abandoned != 0 {
			t.Errorf("the gate counted %+v, want three accepted", got)
		}
	})
}

// grpc-go ends a call whose deadline has passed right after the tap, without a
// word: a tap that had taken a lease would have lost it.
func TestTapLosesNothingWhenTheCallEndsRightAfterIt(t *testing.T) {
	g := newGate(t, "db")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	handle := grpcgate.TapHandle(g)
	for range 100 {
		if _, err := handle(ctx, &tap.Info{FullMethodName: testv1.EchoService_Unary_FullMethodName}); err != nil {
			t.Fatal(err)
		}
	}
	if got := g.Snapshot(); got.InFlight != 0 || got.Totals.Accepted != 0 {
		t.Errorf("the gate says %+v, want nothing", got)
	}
}

func TestTapRefusesWhileDraining(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newGate(t, "db")
		if err := g.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, err := serve(t, nil, tapped(g)).Unary(t.Context(), &testv1.UnaryRequest{})
		wantCode(t, err, codes.Unavailable)
	})
}

func TestTapLetsHealthStreamsOfMessagesAndForeignAdmittersPass(t *testing.T) {
	g := newGate(t, "db", gate.WithMaxWait(0))
	defer fill(t, g)()
	messages, err := gate.NewPolicy(gate.Route("*", g).Stream(gate.HoldMessage))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		admitter gate.Admitter
		route    string
	}{
		"health":           {g, "/grpc.health.v1.Health/Check"},
		"messages":         {messages, testv1.EchoService_BidiStream_FullMethodName},
		"foreign admitter": {foreign{g}, testv1.EchoService_Unary_FullMethodName},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := grpcgate.TapHandle(test.admitter)(t.Context(), &tap.Info{FullMethodName: test.route})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// foreign is an Admitter from outside package gate.
type foreign struct{ to gate.Admitter }

func (f foreign) Acquire(ctx context.Context, call gate.Call) (gate.Lease, error) {
	return f.to.Acquire(ctx, call)
}
