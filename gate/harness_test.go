package gate_test

import (
	"context"
	"errors"
	"math"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

// newGate makes a gate that must be clean when the test is over: nothing in flight, waiting or booked on a key, no slot
// lost, and all its lists consistent.
func newGate(t *testing.T, limit int64, opts ...gate.Option) *gate.Gate {
	t.Helper()
	return newNamed(t, "test", limit, opts...)
}

func newNamed(t *testing.T, name string, limit int64, opts ...gate.Option) *gate.Gate {
	t.Helper()
	// As many waiting calls as units, unless the test says otherwise: full queues are short.
	opts = append([]gate.Option{gate.WithMaxWaiting(int(limit))}, opts...)
	g, err := gate.New(name, limit, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := gate.CheckClean(g); err != nil {
			t.Errorf("gate %q at the end: %v", name, err)
		}
	})
	return g
}

// advance moves the time of a bubble, and lets everybody in it come to rest.
func advance(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// attempt is an Acquire on a goroutine of its own.
type attempt struct {
	lease    gate.Lease
	err      error
	returned bool // and not ended by a panic or Goexit
	done     chan struct{}
}

// start begins an Acquire and returns when it waits or is done.
func start(ctx context.Context, a gate.Admitter, call gate.Call) *attempt {
	p := &attempt{done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.lease, p.err = a.Acquire(ctx, call)
		p.returned = true
	}()
	synctest.Wait()
	return p
}

// waits reports whether the call still waits.
func (p *attempt) waits() bool {
	synctest.Wait()
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// admitted is the lease of a call that must have got one by now.
func (p *attempt) admitted(t *testing.T) gate.Lease {
	t.Helper()
	if p.waits() {
		t.Fatal("the call still waits, want a lease")
	}
	if p.err != nil {
		t.Fatalf("the call got %v, want a lease", p.err)
	}
	return p.lease
}

// refused checks that the call was refused by now, and for what reason.
func (p *attempt) refused(t *testing.T, reason gate.Reason) *gate.Rejection {
	t.Helper()
	if p.waits() {
		t.Fatalf("the call still waits, want a rejection for %s", reason)
	}
	return refused(t, p.err, reason)
}

// failed checks that the call ended with an error that is not a rejection.
func (p *attempt) failed(t *testing.T, want error) {
	t.Helper()
	if p.waits() {
		t.Fatalf("the call still waits, want %v", want)
	}
	if p.err != want { //nolint:errorlint // the context's own error, not one that wraps it
		t.Fatalf("the call got %v, want %v", p.err, want)
	}
}

func refused(t *testing.T, err error, reason gate.Reason) *gate.Rejection {
	t.Helper()
	var r *gate.Rejection
	if !errors.As(err, &r) || r.Reason != reason {
		t.Fatalf("the call got %v, want a rejection for %s", err, reason)
	}
	return r
}

func acquire(t *testing.T, a gate.Admitter, call gate.Call) gate.Lease {
	t.Helper()
	lease, err := a.Acquire(context.Background(), call)
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

// wantNow checks how many units are in flight and how many calls wait.
func wantNow(t *testing.T, g *gate.Gate, inFlight int64, waiting int) {
	t.Helper()
	if g.InFlight() != inFlight || g.Waiting() != waiting {
		t.Fatalf("%d in flight and %d waiting, want %d and %d", g.InFlight(), g.Waiting(), inFlight, waiting)
	}
}

func wantEqual[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// stubContext is a context whose Err is a test's.
type stubContext struct {
	context.Context
	err func() error
}

func (c stubContext) Err() error { return c.err() }

// hugeCost is more than any limit.
const hugeCost = math.MaxInt64

func gosched() { runtime.Gosched() }

// goexit ends the goroutine, as t.FailNow does.
func goexit() { runtime.Goexit() }

func withTimeout(t *testing.T, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), d)
}
