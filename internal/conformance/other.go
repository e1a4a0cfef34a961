package conformance

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor"
)

func otherCases() []Case {
	return []Case{
		{Name: "AllGatesOfAChainAreReleased", Run: chained},
		{Name: "StormLeavesNothingBehind", Run: storm},
		{Name: "PriorityComesFromAHeaderIfSwitchedOn", Shapes: []Shape{Unary}, Run: priority},
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

// storm has calls that wait, are refused, give up, fail and panic, all at once.
func storm(e *Env) {
	const limit, calls = 4, 120
	var most atomic.Int64
	g, err := gate.New(secret, limit, gate.WithMaxWait(20*time.Millisecond),
		gate.WithOnEvent(func(_ context.Context, ev gate.Event) {
			if ev.InFlight > most.Load() {
				most.Store(ev.InFlight)
			}
		}))
	if err != nil {
		e.Fatal(err)
	}
	c := e.start(g, func(ctx context.Context, shape Shape, s Stream) error {
		time.Sleep(time.Duration(rand.IntN(100)) * time.Millisecond)
		switch rand.IntN(10) {
		case 0:
			return errors.New("failed on purpose")
		case 1:
			panic("handler broken on purpose")
		case 2:
			lease, _ := gate.LeaseFromContext(ctx)
			lease.Release()
		}
		return Echo(ctx, shape, s)
	})
	var wg sync.WaitGroup
	for range calls {
		wg.Go(func() {
			time.Sleep(time.Duration(rand.IntN(1000)) * time.Millisecond)
			ctx, cancel := context.WithTimeout(e.Context(), time.Duration(1+rand.IntN(150))*time.Millisecond)
			defer cancel()
			_, _ = e.call(ctx, c, "hello")
		})
	}
	wg.Wait()
	time.Sleep(time.Second) // for handlers whose callers have gone
	e.inFlight(g, 0)
	if n := g.Waiting(); n != 0 {
		e.Errorf("%d waiting at the end", n)
	}
	if n := most.Load(); n > limit {
		e.Errorf("%d in flight, want at most %d", n, limit)
	}
	totals := g.Snapshot().Totals
	if totals.Accepted == 0 || totals.RejectedTimeout+totals.RejectedBusy == 0 {
		e.Errorf("the gate counted %+v: that was no storm", totals)
	}
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
