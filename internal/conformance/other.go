package conformance

import (
	"context"
	"time"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor"
)

func otherCases() []Case {
	return []Case{
		{Name: "DrainRefusesWaitersAndAwaitsHolders", Run: drain},
		{Name: "GatesOfAChainAreAllGivenBack", Run: chained},
		{Name: "PriorityComesFromAHeaderIfSwitchedOn", Shapes: []Shape{Unary}, Run: priority},
	}
}

func drain(e *Env) {
	g := e.gate(gate.WithMaxWait(time.Minute))
	hold := make(chan struct{})
	c := e.start(g, func(ctx context.Context, shape Shape, s Stream) error {
		<-hold
		return Echo(ctx, shape, s)
	})
	call := func() error {
		_, err := e.call(e.Context(), c, "hello")
		return err
	}
	holder := e.background(call)
	waiter := e.background(call)
	drained := e.background(func() error { return g.Drain(e.Context()) })

	want := busy("DRAINING")
	want.code, want.http = codeUnavailable, 503
	e.checkRefusal(e.failure(waiter()), e.Shape, want)
	e.checkRefusal(e.failure(call()), e.Shape, want)
	e.inFlight(g, 1)
	close(hold)
	if err := holder(); err != nil {
		e.Errorf("the call that was in flight: %v", err)
	}
	if err := drained(); err != nil {
		e.Error(err)
	}
}

func chained(e *Env) {
	narrow := e.gate(gate.WithMaxWait(0))
	wide, err := gate.New("secret-wide", 2, gate.WithMaxWait(0))
	if err != nil {
		e.Fatal(err)
	}
	c := e.start(gate.Chain(wide, narrow), nil)
	e.mustCall(e.Context(), c)
	e.inFlight(wide, 0)
	for range 2 {
		e.fill(wide)
	}
	e.checkRefusal(e.refused(e.Context(), c, nil), e.Shape, busy("LIMIT"))
	e.inFlight(narrow, 0)
}

func priority(e *Env) {
	var calls []gate.Call
	g := e.gate(gate.WithOnEvent(func(_ context.Context, ev gate.Event) {
		if ev.Kind == gate.EventDecision {
			calls = append(calls, ev.Call)
		}
	}))
	header := map[string]string{"x-priority": "Critical"}
	for _, opts := range [][]interceptor.Option{nil, {interceptor.WithPriorityFromHeader("x-priority")}} {
		c := e.start(g, nil, opts...)
		if _, err := e.callWith(e.Context(), c, Unary, "hello", header); err != nil {
			e.Fatal(err)
		}
	}
	if len(calls) != 2 || calls[0].Priority != gate.Normal || calls[1].Priority != gate.Critical {
		e.Errorf("got the calls %+v, want normal without the option and critical with it", calls)
	}
}
