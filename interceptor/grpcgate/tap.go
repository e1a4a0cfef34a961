package grpcgate

import (
	"context"

	"google.golang.org/grpc/tap"

	"github.com/rpcgate/rpcgate/gate"
)

// TapHandle returns a function for grpc.InTapHandle. It refuses a call as soon as its
// headers have arrived, if the gate would refuse it without a wait, because gate and
// queue are full or the gate is draining. That costs a small part of a refusal by an
// interceptor, so the server stays useful under a flood. It takes no lease and never
// waits. The calls that it lets pass still need the interceptor:
//
//	server := grpc.NewServer(append(grpcgate.ServerOptions(db),
//		grpc.InTapHandle(grpcgate.TapHandle(db)))...)
//
// A call that is refused here differs from others:
//
//   - No interceptor, not even one that authenticates, no stats handler and no span
//     or metric of otelgrpc sees it. The gate's own metrics, events and logs count
//     it, with the route "_OTHER", since it is not known yet whether the route exists.
//   - It carries RetryInfo and the other details with grpc-go 1.85 or later; earlier
//     versions drop them. It never carries the pushback trailer, which grpc-go cannot
//     set here. A client with a retry policy uses the policy's own backoff instead of
//     the gate's delay. With the usual 10 ms it makes five attempts within 200 ms, and
//     the call fails. See below.
//   - It is refused under the lock of the client's connection, so observers of the
//     gate and functions in options must be quick.
//
// With a tap, give the retry policy of clients the backoff that the gate would ask for:
//
//	"retryPolicy": {
//		"maxAttempts": 5, "initialBackoff": "1s", "maxBackoff": "5s", "backoffMultiplier": 2,
//		"retryableStatusCodes": ["RESOURCE_EXHAUSTED", "UNAVAILABLE"]
//	}
//
// The attempts are then spread over 10 to 14 seconds. If you cannot set the policy of all
// clients, use [BeforeDecode] without a tap: its refusals carry the pushback.
//
// Streams with [gate.HoldMessage] always pass, since opening one takes no lease. If a
// is not a [gate.EarlyRefuser] and does not wrap one, all calls pass.
// grpc.Server.ServeHTTP does not use the tap.
//
// grpc-go marks grpc.InTapHandle as experimental. The function panics if a is nil or
// an option has a bad value.
func TapHandle(a gate.Admitter, opts ...Option) tap.ServerInHandle {
	return newServer(a, opts).tap
}

func (s *server) tap(ctx context.Context, info *tap.Info) (context.Context, error) {
	route := info.FullMethodName
	if s.host.Exempts(route) || s.host.StreamMode(route) == gate.HoldMessage {
		return ctx, nil
	}
	call := gate.Call{Route: route, Caller: s, Size: gate.SizeUnknown, UnknownRoute: true}
	s.describe(ctx, &call, nil) // metadata and peer are in ctx already
	if err := s.host.RefuseEarly(ctx, &call); err != nil {
		return ctx, s.notAdmitted(ctx, err)
	}
	return ctx, nil
}
