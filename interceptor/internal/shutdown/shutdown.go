// Package shutdown has the order in which the hosts stop a server and drain its gates.
package shutdown

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

// Option configures a shutdown. Package interceptor has the type that users see, and
// its functions. The interface is sealed: only this module can name Config.
type Option interface{ Apply(*Config) error }

// OptionFunc is an Option made of a function.
type OptionFunc func(*Config) error

// Apply calls f.
func (f OptionFunc) Apply(c *Config) error { return f(c) }

// Config is what the options set.
type Config struct {
	// NotReady are called first: they tell balancers to send no more calls.
	NotReady []func()
	// Grace is how long the server then goes on, until balancers have noticed.
	Grace time.Duration

	begun atomic.Bool
}

// Server is what a host can do with its server.
type Server struct {
	// Name begins the text of errors, as in "grpcgate: Shutdown".
	Name string
	// Move makes the clients of calls that are answered use another connection; nil:
	// nothing does.
	Move func()
	// Stop accepts no more connections and sends the clients of all others elsewhere.
	// It returns when no call is in flight, and may return when ctx ends.
	Stop func(ctx context.Context) error
	// Abort ends all connections at once.
	Abort func()
}

// onTheWay is how long after Stop the gates begin to drain. A client that has not
// heard of Stop yet may have sent more calls, which are served: not all clients retry.
// It takes a round trip from the server to the client.
const onTheWay = 100 * time.Millisecond

// Run stops the server and drains the gates. If ctx ends before it is done, it aborts
// what is left and returns an error for each gate that is still in use. Another Run does
// not wait for the grace again.
func (c *Config) Run(ctx context.Context, s Server, gates []*gate.Gate) error {
	gates, missing := withoutNil(gates)
	for _, notReady := range c.NotReady {
		notReady()
	}
	grace := c.Grace
	if c.begun.Swap(true) {
		grace = 0
	}
	// Balancers have the first half to notice, so that in the second half a client's
	// next connection leads to another server.
	pause(ctx, grace/2, nil)
	if s.Move != nil && grace > 0 {
		s.Move()
	}
	pause(ctx, grace-grace/2, nil)

	// Neither goroutine ends by itself when ctx does: abort comes first.
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stopped, stopErr := background(func() error { return s.Stop(own) })
	pause(ctx, onTheWay, stopped)
	drained, drainErr := background(func() error { return drain(own, gates) })
	for _, done := range []<-chan struct{}{stopped, drained} {
		select {
		case <-done:
		case <-ctx.Done():
			left := inUse(ctx, gates, stopped)
			s.Abort()
			cancel()
			<-drained
			return s.named(append(left, missing)...)
		}
	}
	return s.named(*stopErr, *drainErr, missing)
}

// inUse returns an error for each gate that is in use when ctx ends, or for the server
// if only that is.
func inUse(ctx context.Context, gates []*gate.Gate, stopped <-chan struct{}) []error {
	var left []error
	for _, g := range gates {
		if inFlight, waiting := g.InFlight(), g.Waiting(); inFlight > 0 || waiting > 0 {
			left = append(left, fmt.Errorf("gate %q: %d units in flight, %d calls waiting: %w",
				g.Name(), inFlight, waiting, ctx.Err()))
		}
	}
	select {
	case <-stopped:
	default:
		if len(left) == 0 {
			left = append(left, fmt.Errorf("calls in flight that hold no lease: %w", ctx.Err()))
		}
	}
	return left
}

// named joins the errors, each with the name of the server.
func (s Server) named(errs ...error) error {
	var named []error
	for _, err := range errs {
		if err != nil {
			named = append(named, fmt.Errorf("%s: %w", s.Name, err))
		}
	}
	return errors.Join(named...)
}

// withoutNil returns the gates that are not nil, and an error if one is: it is too late
// for a panic.
func withoutNil(gates []*gate.Gate) ([]*gate.Gate, error) {
	var there []*gate.Gate
	var err error
	for i, g := range gates {
		if g == nil {
			err = errors.Join(err, fmt.Errorf("gate %d: want a gate, got nil", i))
		} else {
			there = append(there, g)
		}
	}
	return there, err
}

// drain drains all gates at once.
func drain(ctx context.Context, gates []*gate.Gate) error {
	errs := make([]error, len(gates))
	var all sync.WaitGroup
	for i, g := range gates {
		all.Go(func() {
			if err := g.Drain(ctx); err != nil {
				errs[i] = fmt.Errorf("gate %q: %w", g.Name(), err)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// background runs f on a goroutine of its own. The error is there when done is closed.
func background(f func() error) (done <-chan struct{}, err *error) {
	closed := make(chan struct{})
	err = new(error)
	go func() {
		defer close(closed)
		*err = f()
	}()
	return closed, err
}

// pause waits until d has passed, ctx ends or stop is closed.
func pause(ctx context.Context, d time.Duration, stop <-chan struct{}) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-stop:
	case <-ctx.Done():
	}
}
