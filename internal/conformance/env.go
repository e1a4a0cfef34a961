package conformance

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor"
	"github.com/rpcgate/rpcgate/interceptor/httpgate"
)

// secret is the name of the gates, which clients must not see unless an option says
// so.
const secret = "secret-db"

// Env is what a case runs in.
type Env struct {
	*testing.T
	Host  Host
	Shape Shape
}

// gate makes a gate with a limit of one call, and checks at the end of the case that
// no call is left in it.
func (e *Env) gate(opts ...gate.Option) *gate.Gate {
	e.Helper()
	return e.gateOf(1, opts...)
}

// gateOf is gate with another limit.
func (e *Env) gateOf(limit int64, opts ...gate.Option) *gate.Gate {
	e.Helper()
	g, err := gate.New(secret, limit, opts...)
	if err != nil {
		e.Fatal(err)
	}
	e.Cleanup(func() {
		synctest.Wait()
		if n := g.InFlight(); n != 0 {
			e.Errorf("%d in flight at the end", n)
		}
		if n := g.Waiting(); n != 0 {
			e.Errorf("%d waiting at the end", n)
		}
	})
	return g
}

// fill takes one unit of the gate until the returned function is called.
func (e *Env) fill(g *gate.Gate) (release func()) {
	e.Helper()
	lease, err := g.TryAcquire(gate.Call{Route: "filler"})
	if err != nil {
		e.Fatal(err)
	}
	return lease.Release
}

// start serves the handler, or Echo if that is nil, behind a.
func (e *Env) start(a gate.Admitter, handler Handler, opts ...interceptor.Option) Client {
	if handler == nil {
		handler = Echo
	}
	return e.Host.Start(e.T, Setup{Admitter: a, Handler: handler, Options: opts, Configure: configure})
}

// configure prepares a server as the README recommends.
func configure(srv *http.Server) { httpgate.ConfigureServer(srv) }

// policy sends all echo calls through g, with the given mode for streams.
func (e *Env) policy(g *gate.Gate, mode gate.StreamMode) *gate.Policy {
	e.Helper()
	p, err := gate.NewPolicy(gate.Route("/rpcgate.test.v1.EchoService/*", g).Stream(mode))
	if err != nil {
		e.Fatal(err)
	}
	return p
}

// call makes a whole call of the case's shape with one request. It returns the last
// response, and the error if the call failed.
func (e *Env) call(ctx context.Context, c Client, text string) (string, error) {
	return e.callWith(ctx, c, e.Shape, text, nil)
}

func (e *Env) callWith(ctx context.Context, c Client, shape Shape, text string, header map[string]string) (string, error) {
	// This ends the rest of a stream after an error.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return finish(c.Open(ctx, shape, header), text)
}

// finish sends the only request of a call and returns what last does.
func finish(call ClientCall, text string) (string, error) {
	// If Send fails, Recv returns the error.
	if err := call.Send(text); err == nil {
		_ = call.CloseSend()
	}
	return last(call)
}

// last returns the last response of a call, and the error if the call failed.
func last(call ClientCall) (string, error) {
	last := ""
	for {
		got, err := call.Recv()
		if err == io.EOF {
			return last, nil
		}
		if err != nil {
			return last, err
		}
		last = got
	}
}

// mustCall makes a call that must succeed.
func (e *Env) mustCall(ctx context.Context, c Client) {
	e.Helper()
	if got, err := e.call(ctx, c, "hello"); err != nil || got != "hello" {
		e.Fatalf("got %q and error %v, want the text back", got, err)
	}
}

// refused makes a call that must fail and returns the failure.
func (e *Env) refused(ctx context.Context, c Client, header map[string]string) *Failure {
	e.Helper()
	_, err := e.callWith(ctx, c, e.Shape, "hello", header)
	return e.failure(err)
}

func (e *Env) failure(err error) *Failure {
	e.Helper()
	var f *Failure
	if !errors.As(err, &f) {
		e.Fatalf("got error %v, want a *Failure", err)
	}
	return f
}

// background runs f on a goroutine of its own and waits until all goroutines are
// blocked. The returned function waits for the result.
func (e *Env) background(f func() error) (wait func() error) {
	done := make(chan error, 1)
	go func() { done <- f() }()
	synctest.Wait()
	return func() error { return <-done }
}

// totals checks what a gate has counted.
func (e *Env) totals(g *gate.Gate, accepted, rejected, abandoned uint64) {
	e.Helper()
	synctest.Wait()
	t := g.Snapshot().Totals
	if t.Accepted != accepted || t.RejectedBusy+t.RejectedTimeout != rejected || t.Abandoned != abandoned {
		e.Errorf("the gate counted %+v, want %d accepted, %d rejected, %d abandoned", t, accepted, rejected, abandoned)
	}
}

// inFlight checks how many units are in flight.
func (e *Env) inFlight(g *gate.Gate, want int64) {
	e.Helper()
	synctest.Wait()
	if got := g.InFlight(); got != want {
		e.Errorf("%d in flight, want %d", got, want)
	}
}

// took checks how much time has passed since start.
func (e *Env) took(start time.Time, want time.Duration) {
	e.Helper()
	if got := time.Since(start); got != want {
		e.Errorf("took %s, want %s", got, want)
	}
}
