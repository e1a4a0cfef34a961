package conformance

import (
	"context"
	"io"
	"strings"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor"
)

func admitCases() []Case {
	return []Case{
		{Name: "AdmittedCallHoldsOneLeaseUntilItIsOver", Run: admitted},
		{Name: "CallWaitsForALeaseAndGetsIt", Run: waits},
		{Name: "GateKnowsRouteRequestIdAndCaller", Run: identified},
		{Name: "UnaryCallsAndStreamsShareTheLimit", Shapes: []Shape{ClientStream, ServerStream, BidiStream}, Run: shared},
		{Name: "HealthChecksPassAFullGate", Shapes: []Shape{Unary}, Run: health},
		{Name: "ExemptRoutesPassAFullGate", Run: exempt},
		{Name: "DryRunLetsAllCallsPass", Run: dryRun},
		{Name: "RequestIsChargedForItsSizeEvenIfItIsUnknown", Run: sized},
	}
}

func admitted(e *Env) {
	g := e.gate()
	inside := int64(0)
	c := e.start(g, func(ctx context.Context, shape Shape, s Stream) error {
		inside = g.InFlight()
		if _, ok := gate.LeaseFromContext(ctx); !ok {
			e.Error("no lease in the handler's context")
		}
		return Echo(ctx, shape, s)
	})
	e.mustCall(e.Context(), c)
	if inside != 1 {
		e.Errorf("%d in flight in the handler, want 1", inside)
	}
	e.inFlight(g, 0)
	e.totals(g, 1, 0, 0)
}

func waits(e *Env) {
	var events []gate.Event
	g := e.gate(gate.WithMaxWait(time.Minute), gate.WithOnEvent(func(_ context.Context, ev gate.Event) {
		if ev.Kind == gate.EventDecision && ev.Call.Route != "filler" {
			events = append(events, ev)
		}
	}))
	release := e.fill(g)
	c := e.start(g, nil)
	start := time.Now()
	result := e.background(func() error {
		_, err := e.call(e.Context(), c, "hello")
		return err
	})
	if n := g.Waiting(); n != 1 {
		e.Fatalf("%d waiting, want 1", n)
	}
	time.Sleep(40 * time.Second)
	release()
	if err := result(); err != nil {
		e.Fatal(err)
	}
	e.took(start, 40*time.Second)
	if len(events) != 1 || events[0].Waited != 40*time.Second {
		e.Errorf("got events %+v, want one that waited 40 s", events)
	}
}

func identified(e *Env) {
	var calls []gate.Call
	g := e.gate(gate.WithOnEvent(func(_ context.Context, ev gate.Event) { calls = append(calls, ev.Call) }))
	c := e.start(g, nil)
	id := strings.Repeat("a", 200)
	header := map[string]string{"x-request-id": id}
	if _, err := e.callWith(e.Context(), c, e.Shape, "hello", header); err != nil {
		e.Fatal(err)
	}
	synctest.Wait()
	if len(calls) != 2 {
		e.Fatalf("%d events, want a decision and a release", len(calls))
	}
	for _, call := range calls {
		if call.Route != e.Shape.Route() {
			e.Errorf("route %q, want %q", call.Route, e.Shape.Route())
		}
		if call.RequestID != id[:128] {
			e.Errorf("request id %q, want the first 128 characters of the client's", call.RequestID)
		}
		if call.RemoteIP != RemoteIP {
			e.Errorf("remote ip %q, want %q", call.RemoteIP, RemoteIP)
		}
		if call.UnknownRoute {
			e.Error("the route is marked as unknown")
		}
	}
}

func shared(e *Env) {
	g := e.gate(gate.WithMaxWait(0))
	hold := make(chan struct{})
	c := e.start(g, func(ctx context.Context, shape Shape, s Stream) error {
		if shape != Unary {
			<-hold
		}
		return Echo(ctx, shape, s)
	})
	result := e.background(func() error {
		_, err := e.call(e.Context(), c, "hello")
		return err
	})
	e.inFlight(g, 1)
	_, err := e.callWith(e.Context(), c, Unary, "hello", nil)
	if f := e.failure(err); e.Host.Carriers(Unary).Code && f.Code != codeResourceExhausted {
		e.Errorf("the unary call got %v, want it refused", f)
	}
	close(hold)
	if err := result(); err != nil {
		e.Error(err)
	}
}

func health(e *Env) {
	g := e.gate(gate.WithMaxWait(0))
	defer e.fill(g)()
	c := e.start(g, nil)
	if err := c.Check(e.Context()); err != nil {
		e.Errorf("health check at a full gate: %v", err)
	}
	e.totals(g, 1, 0, 0) // the filler
}

func exempt(e *Env) {
	g := e.gate(gate.WithMaxWait(0))
	defer e.fill(g)()
	p, err := gate.NewPolicy(gate.Route("*", g), gate.Exempt(e.Shape.Route()))
	if err != nil {
		e.Fatal(err)
	}
	c := e.start(p, nil)
	e.mustCall(e.Context(), c)
	e.totals(g, 1, 0, 0) // the filler
}

func dryRun(e *Env) {
	g := e.gate(gate.WithMaxWait(0), gate.WithDryRun())
	defer e.fill(g)()
	inside := int64(0)
	c := e.start(g, func(ctx context.Context, shape Shape, s Stream) error {
		inside = g.InFlight()
		return Echo(ctx, shape, s)
	})
	e.mustCall(e.Context(), c)
	if inside != 2 {
		e.Errorf("%d in flight in the handler, want the true number, 2", inside)
	}
	e.inFlight(g, 1)
}

// sized has a gate that counts bytes. Whether the host knows the size of a request
// before it is read is up to the protocol.
func sized(e *Env) {
	const unknown = 12345
	var charged, told int64
	g, err := gate.New(secret, 1<<20, gate.WithCost(func(c gate.Call) int64 {
		charged = c.Size
		return c.Size
	}), gate.WithOnEvent(func(_ context.Context, ev gate.Event) { told = ev.Call.Size }))
	if err != nil {
		e.Fatal(err)
	}
	c := e.start(g, nil, interceptor.WithUnknownSize(unknown))
	e.mustCall(e.Context(), c)
	e.inFlight(g, 0)
	switch {
	case told == gate.SizeUnknown && charged == unknown:
	case told > 1 && told < 1000 && charged == told:
	default:
		e.Errorf("charged for a size of %d, and the event says %d: want the known size, or %d", charged, told, unknown)
	}
}

// recvAll reads a stream to its end.
func recvAll(s Stream) error {
	for {
		if _, err := s.Recv(); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}
