package conformance

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

func handlerCases() []Case {
	return []Case{
		{Name: "PanicReleasesTheLease", Run: panics},
		{Name: "GoexitReleasesTheLease", Run: goexits},
		{Name: "ErrorOfTheHandlerIsLeftAlone", Run: handlerError},
		{Name: "HandlerMayReleaseEarly", Run: releaseEarly},
		{Name: "RejectionOfTheHandlerIsToldLikeOurs", Run: bareRejection},
		{Name: "RejectionOfTheHandlerOnAnExemptRouteIsToldLikeOurs", Run: bareRejectionExempt},
		{Name: "WrappedRejectionTellsNothing", Run: wrappedRejection},
		{Name: "FailingAdmitterIsInternalAndTellsNothing", Run: failingAdmitter},
	}
}

func panics(e *Env) {
	g := e.gate()
	broken := true
	c := e.start(g, func(ctx context.Context, shape Shape, s Stream) error {
		if broken {
			panic("handler broken on purpose")
		}
		return Echo(ctx, shape, s)
	})
	for range 3 {
		e.refused(e.Context(), c, nil)
	}
	e.inFlight(g, 0)
	broken = false
	e.mustCall(e.Context(), c)
	e.totals(g, 4, 0, 0)
}

func goexits(e *Env) {
	g := e.gate()
	c := e.start(g, func(context.Context, Shape, Stream) error {
		runtime.Goexit()
		return nil
	})
	ctx, cancel := context.WithTimeout(e.Context(), time.Second)
	defer cancel()
	_, _ = e.call(ctx, c, "hello") // what the client gets is not up to the gate
	e.inFlight(g, 0)
	e.totals(g, 1, 0, 0)
}

func handlerError(e *Env) {
	g := e.gate()
	c := e.start(g, func(context.Context, Shape, Stream) error { return errors.New("order not found") })
	f := e.refused(e.Context(), c, nil)
	if e.Host.Carriers(e.Shape).Code && f.Code != codeUnknown {
		e.Errorf("got %v, want the host's usual Unknown", f)
	}
	if f.RetryInfo != nil || len(f.Pushback)+len(f.RetryAfter) > 0 {
		e.Errorf("an error of the handler carries a delay: %s", f.Dump)
	}
	e.totals(g, 1, 0, 0)
}

func releaseEarly(e *Env) {
	g := e.gate()
	c := e.start(g, func(ctx context.Context, shape Shape, s Stream) error {
		lease, ok := gate.LeaseFromContext(ctx)
		if !ok || g.InFlight() != 1 {
			e.Errorf("lease %v, %d in flight, want 1", ok, g.InFlight())
		}
		lease.Release()
		if n := g.InFlight(); n != 0 {
			e.Errorf("%d in flight after the release", n)
		}
		return Echo(ctx, shape, s)
	})
	e.mustCall(e.Context(), c)
}

// innerGate makes a full gate for the handler to use.
func innerGate(e *Env) *gate.Gate {
	g, err := gate.New("secret-inner", 1, gate.WithMaxWait(0))
	if err != nil {
		e.Fatal(err)
	}
	e.fill(g)
	return g
}

func bareRejection(e *Env) {
	g, inner := e.gate(), innerGate(e)
	c := e.start(g, func(ctx context.Context, shape Shape, _ Stream) error {
		return inner.Do(ctx, gate.Call{Route: shape.Route()}, func(context.Context) error { return nil })
	})
	e.checkRefusal(e.refused(e.Context(), c, nil), e.Shape, busy("LIMIT"))
	e.totals(g, 1, 0, 0)
}

func bareRejectionExempt(e *Env) {
	inner := innerGate(e)
	p, err := gate.NewPolicy(gate.Exempt("*"))
	if err != nil {
		e.Fatal(err)
	}
	c := e.start(p, func(ctx context.Context, _ Shape, _ Stream) error {
		_, err := inner.Acquire(ctx, gate.Call{})
		return err
	})
	e.checkRefusal(e.refused(e.Context(), c, nil), e.Shape, busy("LIMIT"))
}

func wrappedRejection(e *Env) {
	g, inner := e.gate(), innerGate(e)
	c := e.start(g, func(ctx context.Context, _ Shape, _ Stream) error {
		_, err := inner.Acquire(ctx, gate.Call{})
		return fmt.Errorf("reading from %s: %w", secret, err)
	})
	e.checkRefusal(e.refused(e.Context(), c, nil), e.Shape, busy("LIMIT"))
}

// brokenAdmitter is a user's Admitter that fails.
type brokenAdmitter struct{}

func (brokenAdmitter) Acquire(context.Context, gate.Call) (gate.Lease, error) {
	return gate.Lease{}, errors.New("dial tcp: " + secret)
}

func failingAdmitter(e *Env) {
	f := e.refused(e.Context(), e.start(brokenAdmitter{}, e.unreachable()), nil)
	can := e.Host.Carriers(e.Shape)
	if can.Code && f.Code != codeInternal {
		e.Errorf("got %v, want Internal", f)
	}
	if can.HTTPStatus && f.HTTPStatus != 500 {
		e.Errorf("got %v, want HTTP 500", f)
	}
	if got := f.Dump; strings.Contains(got, secret) {
		e.Errorf("the client sees %q in\n%s", secret, got)
	}
}
