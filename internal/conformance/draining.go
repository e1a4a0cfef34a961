package conformance

import (
	"context"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

func drainingCases() []Case {
	return []Case{
		{Name: "RefusedWhileDraining", Run: refusedDraining},
		{Name: "DrainServesWaitersAndRefusesNewcomers", Run: drainServes},
		{Name: "DrainingNeverForbidsARetry", Run: drainingNearDeadline},
		{Name: "DrainingTellsAttemptsInTurnTheShortestDelay", Run: drainingAttempts},
		{Name: "DrainingOverHttp2LeavesTheConnectionToOthers", Run: drainingConnection},
	}
}

// draining is a refusal that sends the client elsewhere.
func draining() expectation {
	return expectation{code: codeUnavailable, http: 503, reason: "DRAINING", max: gate.DefaultMaxDrainDelay}
}

// drained returns a gate that drains and is empty.
func (e *Env) drained(opts ...gate.Option) *gate.Gate {
	e.Helper()
	g := e.gate(opts...)
	if err := g.Drain(e.Context()); err != nil {
		e.Fatal(err)
	}
	return g
}

func refusedDraining(e *Env) {
	g := e.drained()
	e.checkRefusal(e.refused(e.Context(), e.start(g, e.unreachable()), nil), e.Shape, draining())
}

func drainServes(e *Env) {
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

	e.checkRefusal(e.failure(call()), e.Shape, draining())
	e.inFlight(g, 1)
	close(hold)
	if err := holder(); err != nil {
		e.Errorf("the call that was in flight: %v", err)
	}
	if err := waiter(); err != nil {
		e.Errorf("the call that waited: %v", err)
	}
	if err := drained(); err != nil {
		e.Error(err)
	}
}

// drainingNearDeadline has a caller whose deadline is nearer than the delay. Another
// server may answer at once.
func drainingNearDeadline(e *Env) {
	const delay = 2500 * time.Millisecond
	g := e.drained(gate.WithDrainDelay(delay, delay))
	ctx, cancel := context.WithTimeout(e.Context(), 900*time.Millisecond)
	defer cancel()
	want := draining()
	want.min, want.max = delay, delay
	e.checkRefusal(e.refused(ctx, e.start(g, e.unreachable()), nil), e.Shape, want)
}

// attempts is the header in which gRPC clients say how many attempts went before.
const attempts = "grpc-previous-rpc-attempts"

// NoAttempts is why a host lacks DrainingTellsAttemptsInTurnTheShortestDelay.
const NoAttempts = "only gRPC clients say which attempt of a call they make"

// drainingAttempts has clients that say which attempt of a call they make.
func drainingAttempts(e *Env) {
	const low, high = 10 * time.Millisecond, 90 * time.Millisecond
	c := e.start(e.drained(gate.WithDrainDelay(low, high)), e.unreachable())
	want := draining()
	want.min, want.max = low, low
	for range 10 {
		e.checkRefusal(e.refused(e.Context(), c, nil), e.Shape, want)
		e.checkRefusal(e.refused(e.Context(), c, map[string]string{attempts: "2"}), e.Shape, want)
	}
	want.max = high
	for _, previous := range []string{"1", "3"} {
		seen := map[time.Duration]bool{}
		for range 10 {
			f := e.refused(e.Context(), c, map[string]string{attempts: previous})
			e.checkRefusal(f, e.Shape, want)
			seen[f.RetryInfo.GetRetryDelay().AsDuration()] = true
		}
		if len(seen) < 3 {
			e.Errorf("after %s attempts clients were told the delays %v, want drawn ones", previous, seen)
		}
	}
}

// drainingConnection has a client that uses one connection of HTTP/2, also after a
// draining gate has refused a call on it: the calls of other routes are there, too.
func drainingConnection(e *Env) {
	g := e.gate(gate.WithMaxWait(0))
	c := e.start(g, nil)
	over, ok := c.(interface{ Connections() int })
	if !ok {
		e.Fatal("the host does not count connections")
	}
	connections := func(want int) {
		e.Helper()
		e.mustCall(e.Context(), c)
		if got := over.Connections(); got != want {
			e.Fatalf("%d connections so far, want %d", got, want)
		}
		synctest.Wait()
	}
	connections(1)
	release := e.fill(g)
	e.refused(e.Context(), c, nil)
	release()
	connections(1)
	if err := g.Drain(e.Context()); err != nil {
		e.Fatal(err)
	}
	e.refused(e.Context(), c, nil)
	if err := g.Reopen(); err != nil {
		e.Fatal(err)
	}
	connections(1)
}
