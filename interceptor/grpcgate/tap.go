package grpcgate

import (
	"context"

	"google.golang.org/grpc/tap"

	"github.com/rpcgate/rpcgate/gate"
)

// TapHandle returns a function for grpc.InTapHandle that refuses calls as soon as
// their headers are there, if the gate would refuse them at once: it is full, and
// so is its queue, or it drains. That costs a small part of what a refusal by an
// interceptor does, so under a flood the server stays useful. It takes no place
// and never waits; the calls that it lets pass are admitted by the interceptor,
// which must be installed, too:
//
//	server := grpc.NewServer(append(grpcgate.ServerOptions(db),
//		grpc.InTapHandle(grpcgate.TapHandle(db)))...)
//
// What that means for a call that it refuses:
//
//   - It comes before everything else: no interceptor, not even one that
//     authenticates, no stats handler, no span and no metric of otelgrpc sees it.
//     The gate's own metrics, events and logs count it, with the route "_OTHER",
//     since nobody knows yet whether there is such a route.
//   - With grpc-go 1.85 or later it carries RetryInfo and the other details;
//     before that grpc-go drops them. It never carries the pushback trailer, which
//     cannot be set here: a client with a retry policy goes by the policy's own
//     backoff.
//   - It happens under the lock of the client's connection. Observers of the gate
//     and functions given as options must be quick.
//
// Streams with [gate.HoldMessage] always pass: to open one takes no lease. With an
// Admitter that is not a [gate.EarlyRefuser], and wraps none, all calls pass.
// grpc.Server.ServeHTTP does not use the tap.
//
// grpc-go marks grpc.InTapHandle as experimental. A nil a or an option with a bad
// value panics.
func TapHandle(a gate.Admitter, opts ...Option) tap.ServerInHandle {
	return newServer(a, opts).tap
}

func (s *server) tap(ctx context.Context, info *tap.Info) (context.Context, error) {
	route := info.FullMethodName
	if s.host.Exempts(route) || s.host.StreamMode(route) == gate.HoldMessage {
		return ctx, nil
	}
	call := gate.Call{Route: route, Caller: s, UnknownRoute: true}
	s.describe(ctx, &call, nil) // metadata and peer are in ctx already
	if err := s.host.RefuseEarly(ctx, &call); err != nil {
		return ctx, s.notAdmitted(ctx, err)
	}
	return ctx, nil
}
