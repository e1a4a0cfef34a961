package gate_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

// enter is what a host does: the lease, and the context of the handler.
func enter(t *testing.T, ctx context.Context, a gate.Admitter, call gate.Call) (context.Context, gate.Lease) {
	t.Helper()
	lease, err := gate.Enter(ctx, a, &call)
	if err != nil {
		t.Fatal(err)
	}
	if lease == (gate.Lease{}) {
		return ctx, lease
	}
	return gate.NewContext(ctx, lease, a, &call), lease
}

func TestACallThatIsCoveredPasses(t *testing.T) {
	db, reports := newNamed(t, "db", 1), newNamed(t, "reports", 2)
	policy := newPolicy(t, gate.Route("/both", reports, db), gate.Route("/db", db), gate.Exempt("/free"))
	for name, outer := range map[string]gate.Admitter{"the same policy": policy, "a chain of its gates": gate.Chain(db, reports)} {
		t.Run(name, func(t *testing.T) {
			ctx, lease := enter(t, t.Context(), outer, gate.Call{Route: "/both"})
			ctx = context.WithValue(ctx, otherKey{}, "something between")
			for what, inner := range map[string]struct {
				a     gate.Admitter
				route string
			}{
				"the same route":      {policy, "/both"},
				"one gate of two":     {policy, "/db"},
				"a gate":              {reports, "/other"},
				"a chain":             {gate.Chain(reports, db), "/other"},
				"a wrapper of a gate": {&counting{next: db}, "/other"},
				"an exempt route":     {policy, "/free"},
				"without a rule":      {policy, "/unknown"},
			} {
				if _, inner := enter(t, ctx, inner.a, gate.Call{Route: inner.route}); inner != (gate.Lease{}) {
					t.Errorf("%s: acquired once more", what)
				}
				exempt := inner.a == policy && policy.Exempts(inner.route)
				if covers := gate.Covers(ctx, inner.a, inner.route); covers == exempt {
					t.Errorf("%s: covered: %v", what, covers)
				}
			}
			wantNow(t, db, 1, 0)
			wantNow(t, reports, 1, 0)
			lease.Release()
			if gate.Covers(ctx, policy, "/both") {
				t.Error("a lease that was released covers the call")
			}
			_, again := enter(t, ctx, policy, gate.Call{Route: "/both"})
			wantNow(t, db, 1, 0)
			again.Release()
		})
	}
}

// TestAPartOfACallPassesItsOwnGate is the batch whose handler dispatches its parts to other routes.
func TestAPartOfACallPassesItsOwnGate(t *testing.T) {
	front, reports := newNamed(t, "front", 9), newNamed(t, "reports", 2, gate.WithMaxWait(0))
	policy := newPolicy(t, gate.Route("/batch", front), gate.Route("/report", reports, front))
	ctx, batch := enter(t, t.Context(), policy, gate.Call{Route: "/batch"})
	var parts []gate.Lease
	for range 2 {
		part, lease := enter(t, ctx, policy, gate.Call{Route: "/report"})
		wantEqual(t, "covered in the part", gate.Covers(part, policy, "/report"), true)
		parts = append(parts, lease)
	}
	wantNow(t, reports, 2, 0)
	wantNow(t, front, 1, 0) // the batch has that one
	_, err := gate.Enter(ctx, policy, &gate.Call{Route: "/report"})
	refused(t, err, gate.ReasonLimit)
	for _, lease := range append(parts, batch) {
		lease.Release()
	}
}

// TestAPartDoesNotWaitForANarrowerGate has two calls that would wait for each other.
func TestAPartDoesNotWaitForANarrowerGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		narrow, middle, wide := newNamed(t, "narrow", 1), newNamed(t, "middle", 2), newNamed(t, "wide", 3)
		ctx, lease := enter(t, t.Context(), middle, gate.Call{Route: "/a"})
		others := []gate.Lease{acquire(t, narrow, gate.Call{}), acquire(t, wide, gate.Call{Cost: 3})}
		_, err := gate.Enter(ctx, narrow, &gate.Call{Route: "/b"})
		refused(t, err, gate.ReasonLimit)
		_, err = gate.Enter(ctx, newPolicy(t, gate.Route("*", narrow, wide)), &gate.Call{Route: "/b"})
		refused(t, err, gate.ReasonLimit)
		wantNow(t, narrow, 1, 0)

		waits := make(chan gate.Lease, 1) // a wider gate is waited for
		go func() {
			lease, err := gate.Enter(ctx, wide, &gate.Call{Route: "/c"})
			if err != nil {
				t.Error(err)
			}
			waits <- lease
		}()
		advance(10 * time.Millisecond)
		wantNow(t, wide, 3, 1)
		for _, other := range others {
			other.Release()
		}
		(<-waits).Release()
		_, free := enter(t, ctx, narrow, gate.Call{Route: "/b"}) // and a narrower one is taken if it is free
		free.Release()
		lease.Release()
	})
}

func TestMessagesOfAStreamCoverTheirRouteOnly(t *testing.T) {
	policy := newPolicy(t, gate.Route("*", newGate(t, 1)))
	var message gate.Lease
	ctx := gate.NewMessagesContext(t.Context(), func() gate.Lease { return message }, policy, &gate.Call{Route: "/stream"})
	wantEqual(t, "the stream's route", gate.Covers(ctx, policy, "/stream"), true)
	wantEqual(t, "another one", gate.Covers(ctx, policy, "/other"), false)
	wantEqual(t, "another Admitter", gate.Covers(ctx, newGate(t, 1), "/stream"), false)

	message = acquire(t, policy, gate.Call{Route: "/stream"})
	wantEqual(t, "another one, while a message is held", gate.Covers(ctx, policy, "/other"), true)
	message.Release()
	wantEqual(t, "another one, after that", gate.Covers(ctx, policy, "/other"), false)
	wantEqual(t, "what an exempt call holds", gate.Covers(
		gate.NewContext(t.Context(), gate.Lease{}, policy, &gate.Call{Route: "/r"}), policy, "/r"), false)
}

// TestAReleasedLeaseIsAskedWhileItsSlotIsInUse has handlers that go on with the context of a call that is over. It is for
// the race detector, too: the slot of their lease is another call's.
func TestAReleasedLeaseIsAskedWhileItsSlotIsInUse(t *testing.T) {
	chain := gate.Chain(newNamed(t, "narrow", 8), newNamed(t, "wide", 9))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 500 {
				call := gate.Call{Route: "/r"}
				lease, err := chain.Acquire(t.Context(), call)
				if err != nil {
					t.Error(err)
					return
				}
				ctx := gate.NewContext(t.Context(), lease, chain, &call)
				lease.Release()
				if gate.Covers(ctx, chain, "/r") {
					t.Error("a lease that was released covers a call")
				}
			}
		})
	}
	all.Wait()
}

func TestAnUnknownAdmitterCoversWhatItAdmitted(t *testing.T) {
	one, other := &closed{newGate(t, 2)}, &closed{newNamed(t, "other", 2)}
	ctx, lease := enter(t, t.Context(), one, gate.Call{Route: "/a"})
	wantEqual(t, "the same", gate.Covers(ctx, one, "/a"), true)
	wantEqual(t, "another route, which may have other gates", gate.Covers(ctx, one, "/b"), false)
	wantEqual(t, "another one", gate.Covers(ctx, other, "/a"), false)
	wantEqual(t, "nil", gate.Covers(ctx, nil, "/a"), false)
	lease.Release()
	wantEqual(t, "after the release", gate.Covers(ctx, one, "/a"), false)

	// One that cannot be compared must not make it panic.
	odd := admitters{newGate(t, 1)}
	ctx, lease = enter(t, t.Context(), odd, gate.Call{Route: "/a"})
	wantEqual(t, "one that cannot be compared", gate.Covers(ctx, odd, "/a"), false)
	lease.Release()
}

type admitters []gate.Admitter

func (a admitters) Acquire(ctx context.Context, call gate.Call) (gate.Lease, error) {
	return a[0].Acquire(ctx, call)
}

// TestAGateInAHandlerKnowsTheClientsCall has a handler acquire a gate of its own with an empty Call.
func TestAGateInAHandlerKnowsTheClientsCall(t *testing.T) {
	asked := callerStub{"asked", "192.0.2.1"}
	for _, test := range []struct {
		name             string
		outer, own, want gate.Call
	}{
		{"who calls is asked for", gate.Call{Route: "/r", Caller: asked}, gate.Call{},
			gate.Call{Route: "/r", RequestID: "asked", RemoteIP: "192.0.2.1"}},
		{"all is known", gate.Call{Route: "/r", RequestID: "7", RemoteIP: "192.0.2.7", Key: "ann", Priority: gate.Low}, gate.Call{},
			gate.Call{Route: "/r", RequestID: "7", RemoteIP: "192.0.2.7", Key: "ann", Priority: gate.Low}},
		{"some is known, some asked for", gate.Call{Route: "/r", RequestID: "7", Caller: asked}, gate.Call{Cost: 2},
			gate.Call{Route: "/r", RequestID: "7", RemoteIP: "192.0.2.1", Cost: 2}},
		{"a route of its own", gate.Call{Route: "/r", Caller: asked, Key: "ann", Priority: gate.Low}, gate.Call{Route: "/own"},
			gate.Call{Route: "/own", RequestID: "asked", RemoteIP: "192.0.2.1"}},
		{"an id and a key of its own", gate.Call{Route: "/r", Caller: asked, Key: "ann"}, gate.Call{RequestID: "own", Key: "bob"},
			gate.Call{Route: "/r", RequestID: "own", RemoteIP: "192.0.2.1", Key: "bob"}},
		{"a route that no server has registered", gate.Call{Route: "/made/up", UnknownRoute: true}, gate.Call{},
			gate.Call{Route: "/made/up", UnknownRoute: true}},
	} {
		for _, early := range []bool{false, true} {
			t.Run(test.name, func(t *testing.T) {
				var told log
				front := newNamed(t, "front", 2)
				db := newNamed(t, "db", 9, gate.WithOnEvent(told.OnEvent))
				unwatched := newNamed(t, "unwatched", 9)
				ctx, lease := enter(t, t.Context(), front, test.outer)
				if early { // what is known of the call does not end with its lease
					lease.Release()
				}
				ctx, cancel := context.WithTimeout(ctx, time.Hour)
				defer cancel()
				err := db.Do(ctx, test.own, func(ctx context.Context) error {
					return unwatched.Do(ctx, test.own, func(context.Context) error {
						h := unwatched.Snapshot().Holders[0]
						wantEqual(t, "holder", h.Call, test.want)
						return nil
					})
				})
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range told.events {
					wantEqual(t, e.Kind.String(), e.Call, test.want)
				}
				lease.Release()
			})
		}
	}
}

// TestAPolicyInAHandlerKnowsTheRoute has a policy that leaves out the empty route.
func TestAPolicyInAHandlerKnowsTheRoute(t *testing.T) {
	db := newNamed(t, "db", 1)
	ctx, front := enter(t, t.Context(), newNamed(t, "front", 1), gate.Call{Route: "/r"})
	defer front.Release()
	lease, err := newPolicy(t, gate.Route("/r", db)).Acquire(ctx, gate.Call{})
	if err != nil {
		t.Fatal(err)
	}
	wantNow(t, db, 1, 0)
	lease.Release()
}

func TestARejectionInAHandlerKnowsTheClient(t *testing.T) {
	var told log
	db := newNamed(t, "db", 1, gate.WithMaxWait(0), gate.WithOnEvent(told.OnEvent))
	defer acquire(t, db, gate.Call{}).Release()
	ctx, lease := enter(t, t.Context(), newNamed(t, "front", 1), gate.Call{Route: "/r", Caller: callerStub{"asked", "192.0.2.1"}})
	defer lease.Release()
	_, err := db.Acquire(ctx, gate.Call{})
	wantEqual(t, "request id", refused(t, err, gate.ReasonLimit).RequestID, "asked")
	want := gate.Call{Route: "/r", RequestID: "asked", RemoteIP: "192.0.2.1"}
	wantEqual(t, "the call in the event", told.events[1].Call, want)
}

func TestACallIsResolvedWithoutAContext(t *testing.T) {
	call := gate.Call{Route: "/r", Caller: callerIn{}}
	var none context.Context
	wantEqual(t, "the call", call.Resolved(none), gate.Call{Route: "/r"})
}

// callerIn finds the caller in the context, as hosts do.
type callerIn struct{}

func (callerIn) Identify(ctx context.Context) (requestID, remoteIP string) {
	requestID, _ = ctx.Value(otherKey{}).(string)
	return requestID, ""
}

// TestACallThatWaitsForItselfIsToldApart has one gate in front of a handler and again inside of it.
func TestACallThatWaitsForItselfIsToldApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told log
		db := newNamed(t, "db", 1, gate.WithOnEvent(told.OnEvent))
		ctx, lease := enter(t, t.Context(), gate.Chain(db, newNamed(t, "wide", 9)), gate.Call{Route: "/r"})
		inside := start(ctx, db, gate.Call{})
		wantEqual(t, "the waiting call", db.Waiters()[0].SelfWait, true)
		outside := start(t.Context(), db, gate.Call{Priority: gate.Low, Route: "/other"})
		outside.refused(t, gate.ReasonQueueFull)
		advance(100 * time.Millisecond)
		inside.refused(t, gate.ReasonWaitTimeout)
		_, err := gate.Chain(db).(*gate.Gate).Acquire(stubContext{ctx, func() error { return nil }}, gate.Call{Route: "/r"})
		refused(t, err, gate.ReasonWaitTimeout)
		lease.Release()
		for _, e := range told.of(gate.EventDecision) {
			want := e.Decision.Rejected() && e.Call.Route == "/r"
			wantEqual(t, e.Call.Route+" "+e.Decision.String(), e.SelfWait, want)
		}
		wantEqual(t, "decisions", len(told.of(gate.EventDecision)), 4)
	})
}

// TestADryRunTellsOfCallsThatWouldWaitForThemselves has all the ends of such a call.
func TestADryRunTellsOfCallsThatWouldWaitForThemselves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told log
		db := newNamed(t, "db", 1, gate.WithDryRun(), gate.WithOnEvent(told.OnEvent))
		ctx, lease := enter(t, t.Context(), db, gate.Call{Route: "/r"})
		waits := acquire(t, inContext{ctx, db}, gate.Call{})
		wantEqual(t, "the waiting call", db.Waiters()[0].SelfWait, true)
		rejected := acquire(t, inContext{ctx, db}, gate.Call{})
		another := acquire(t, db, gate.Call{Route: "/other"})
		advance(100 * time.Millisecond)
		served := acquire(t, inContext{ctx, db}, gate.Call{})
		for _, l := range []gate.Lease{waits, rejected, another, lease, served} {
			l.Release()
		}
		for _, e := range told.of(gate.EventDecision)[1:] {
			wantEqual(t, e.Call.Route+" "+e.Decision.String()+" "+e.Reason.String(), e.SelfWait, e.Call.Route == "/r")
		}
		wantEqual(t, "decisions", len(told.of(gate.EventDecision)), 5)
	})
}

// inContext is an Admitter that is always asked in one context.
type inContext struct {
	ctx context.Context
	gate.Admitter
}

func (a inContext) Acquire(_ context.Context, call gate.Call) (gate.Lease, error) {
	return a.Admitter.Acquire(a.ctx, call)
}

// TestACallThatNeedNotWaitDoesNotWaitForItself has room come while the gate asks the context for its deadline.
func TestACallThatNeedNotWaitDoesNotWaitForItself(t *testing.T) {
	var told log
	db := newNamed(t, "db", 2, gate.WithOnEvent(told.OnEvent))
	ctx, lease := enter(t, t.Context(), db, gate.Call{Route: "/r"})
	other := acquire(t, db, gate.Call{})
	acquire(t, inContext{lateRoom{ctx, other}, db}, gate.Call{}).Release()
	lease.Release()
	for _, e := range told.of(gate.EventDecision) {
		wantEqual(t, e.Call.Route+" "+e.Decision.String(), e.SelfWait, false)
	}
}

// lateRoom is a context that releases a lease when it is asked for its deadline.
type lateRoom struct {
	context.Context
	lease gate.Lease
}

func (c lateRoom) Deadline() (time.Time, bool) {
	c.lease.Release()
	return c.Context.Deadline()
}
