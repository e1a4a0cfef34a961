package grpcgate

import (
	"context"
	"time"

	"google.golang.org/grpc"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor"
	"github.com/rpcgate/rpcgate/interceptor/internal/mistake"
	"github.com/rpcgate/rpcgate/interceptor/internal/shutdown"
)

// Shutdown stops a server so that no call is lost, and drains its gates:
//
//   - It calls GracefulStop: no connection is accepted any more, and GOAWAY makes
//     clients open another one for their next call.
//   - It drains the gates 100 ms later, so that calls already on their way are served.
//     Calls that wait at a gate are still served, too. A call that comes later, on a
//     connection of another server with the same gates, is sent elsewhere; see
//     [gate.Gate.Drain]. Handlers of long streams learn of it by [gate.Lease.Draining].
//   - When ctx ends, it calls Stop, which cuts off all calls that are left.
//
// It returns nil when the server is stopped and all gates are empty. Otherwise the
// error names the gates that are still in use, with the units in flight, and is ctx's.
// It also waits for calls that no gate counts, such as those of exempt routes.
//
// Clients need a retry policy for Unavailable only if they are slower than those 100
// ms to hear of GOAWAY. A client without another server must also wait for the next
// connection (grpc.WaitForReady).
//
// For servers that share their gates, call Shutdown at the same time. To tell
// balancers first, use a [Stopper]. Shutdown panics if srv is nil.
func Shutdown(ctx context.Context, srv *grpc.Server, gates ...*gate.Gate) error {
	return NewStopper(srv).Shutdown(ctx, gates...)
}

// Stopper stops a server, like [Shutdown], after it has told balancers. It is safe for
// concurrent use.
type Stopper struct {
	srv    *grpc.Server
	config shutdown.Config
}

// NewStopper returns a Stopper:
//
//	stopper := grpcgate.NewStopper(srv,
//		interceptor.WithNotReady(healthServer.Shutdown), // google.golang.org/grpc/health
//		interceptor.WithGrace(5*time.Second))
//
// It panics if srv or an option is nil, or if an option has a bad value.
func NewStopper(srv *grpc.Server, opts ...interceptor.ShutdownOption) *Stopper {
	s := &Stopper{srv: srv}
	err := mistake.InOptions(opts, func(o interceptor.ShutdownOption) error { return o.Apply(&s.config) })
	if srv == nil {
		mistake.Panic(pkg, mistake.Nil("NewStopper", "a server"), err)
	}
	mistake.Panic(pkg, err)
	return s
}

// Shutdown makes the server not ready, waits for the time of [interceptor.WithGrace],
// in which calls are served as before, and then does what the function [Shutdown] does.
// ctx covers all of it. Another call does not wait for the grace again.
func (s *Stopper) Shutdown(ctx context.Context, gates ...*gate.Gate) error {
	return s.config.Run(ctx, shutdown.Server{
		Name: pkg + ": Shutdown",
		Stop: func(context.Context) error {
			s.srv.GracefulStop()
			return nil
		},
		Abort: s.abort,
	}, gates)
}

// abortTime is how long a hard stop may take.
const abortTime = time.Second

// abort stops the server. Up to grpc-go 1.84, Stop hangs if GracefulStop waits for a
// handler whose connection is closed already. Then there is nothing left to stop.
func (s *Stopper) abort() {
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		s.srv.Stop()
	}()
	timer := time.NewTimer(abortTime)
	defer timer.Stop()
	select {
	case <-stopped:
	case <-timer.C:
	}
}
