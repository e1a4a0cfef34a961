package gate_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

// log is an observer that keeps what it is told.
type log struct {
	mu     sync.Mutex
	events []gate.Event
	// onEvent, if it is not nil, runs in OnEvent.
	onEvent func(gate.Event)
}

func (l *log) OnEvent(_ context.Context, e gate.Event) {
	l.mu.Lock()
	l.events = append(l.events, e)
	l.mu.Unlock()
	if l.onEvent != nil {
		l.onEvent(e)
	}
}

// of are the events of a kind.
func (l *log) of(kind gate.EventKind) []gate.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(l.events), func(e gate.Event) bool { return e.Kind != kind })
}

func TestEveryDecisionAndReleaseIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told log
		g := newGate(t, 1, gate.WithOnEvent(told.OnEvent))
		holder := acquire(t, g, gate.Call{Route: "/a/1"})
		waiter := start(t.Context(), g, gate.Call{Route: "/a/2", RequestID: "two", RemoteIP: "192.0.2.7"})
		full := start(t.Context(), g, gate.Call{Route: "/a/3"}).refused(t, gate.ReasonQueueFull)
		advance(30 * time.Millisecond)
		holder.Release()
		lease := waiter.admitted(t)
		ctx, cancel := context.WithCancel(t.Context())
		gone := start(ctx, g, gate.Call{Route: "/a/4"})
		advance(10 * time.Millisecond)
		cancel()
		gone.failed(t, context.Canceled)
		late := start(t.Context(), g, gate.Call{Route: "/a/5"})
		advance(100 * time.Millisecond)
		timedOut := late.refused(t, gate.ReasonWaitTimeout)
		lease.Release()

		ms := time.Millisecond
		want := []gate.Event{
			{Kind: gate.EventDecision, Call: gate.Call{Route: "/a/1"}, Decision: gate.Accepted, InFlight: 1},
			{Kind: gate.EventDecision, Call: gate.Call{Route: "/a/3", RequestID: full.RequestID}, Decision: gate.RejectedBusy,
				Reason: gate.ReasonQueueFull, InFlight: 1, Waiting: 1, Rejection: full},
			{Kind: gate.EventRelease, Call: gate.Call{Route: "/a/1"}, Held: 30 * ms, Waiting: 1},
			{Kind: gate.EventDecision, Call: gate.Call{Route: "/a/2", RequestID: "two", RemoteIP: "192.0.2.7"},
				Decision: gate.Accepted, InFlight: 1, Waited: 30 * ms},
			{Kind: gate.EventDecision, Call: gate.Call{Route: "/a/4"}, Decision: gate.Abandoned, InFlight: 1, Waited: 10 * ms},
			{Kind: gate.EventDecision, Call: gate.Call{Route: "/a/5", RequestID: timedOut.RequestID},
				Decision: gate.RejectedTimeout, Reason: gate.ReasonWaitTimeout, InFlight: 1, Waited: 100 * ms, Rejection: timedOut},
			{Kind: gate.EventRelease, Call: gate.Call{Route: "/a/2", RequestID: "two", RemoteIP: "192.0.2.7"},
				Waited: 30 * ms, Held: 110 * ms},
		}
		if len(told.events) != len(want) {
			t.Fatalf("%d events, want %d: %+v", len(told.events), len(want), told.events)
		}
		for _, w := range want { // a release and the grant that follows it are told by two goroutines, in any order
			w.Gate, w.Limit = "test", 1
			if !slices.ContainsFunc(told.events, func(e gate.Event) bool { return e.Plain() == w }) {
				t.Errorf("there is no event\n%+v among\n%+v", w, told.events)
			}
		}
		wantEqual(t, "waited in milliseconds", want[5].WaitedMs(), 100)
	})
}

// moments are what makes a gate with the limit 1, whose slot is held, tell of something. Each ends with nothing held,
// also when an observer has kept the calls from getting what they should.
var moments = map[string]func(t *testing.T, g *gate.Gate, holder gate.Lease){
	"refused": func(t *testing.T, g *gate.Gate, holder gate.Lease) {
		waiter, full := start(t.Context(), g, gate.Call{}), start(t.Context(), g, gate.Call{})
		end(holder.Release)
		<-waiter.done
		end(waiter.lease.Release)
		<-full.done
		end(full.lease.Release)
	},
	"admitted at once": func(t *testing.T, g *gate.Gate, holder gate.Lease) {
		end(holder.Release)
		end(func() { acquire(t, g, gate.Call{}).Release() })
	},
	"admitted after a wait": func(t *testing.T, g *gate.Gate, holder gate.Lease) {
		waiter := start(t.Context(), g, gate.Call{})
		end(holder.Release)
		<-waiter.done
		end(waiter.lease.Release)
	},
	"timed out": func(t *testing.T, g *gate.Gate, holder gate.Lease) {
		waiter := start(t.Context(), g, gate.Call{})
		<-waiter.done
		end(waiter.lease.Release)
		end(holder.Release)
	},
	"displaced": func(t *testing.T, g *gate.Gate, holder gate.Lease) {
		low, high := start(t.Context(), g, gate.Call{Priority: gate.Low}), start(t.Context(), g, gate.Call{})
		<-low.done
		end(low.lease.Release)
		end(holder.Release)
		<-high.done
		end(high.lease.Release)
	},
	"abandoned": func(t *testing.T, g *gate.Gate, holder gate.Lease) {
		ctx, cancel := context.WithCancel(t.Context())
		waiter := start(ctx, g, gate.Call{})
		cancel()
		<-waiter.done
		end(waiter.lease.Release)
		end(holder.Release)
	},
	"held too long": func(_ *testing.T, _ *gate.Gate, holder gate.Lease) {
		advance(time.Hour)
		end(holder.Release)
	},
	"let through by a dry run": func(t *testing.T, g *gate.Gate, holder gate.Lease) {
		g.SetDryRun(true)
		var passed []*attempt
		for range 3 {
			passed = append(passed, start(t.Context(), g, gate.Call{}))
		}
		end(holder.Release) // whose turn it is is told of here
		for _, p := range passed {
			end(p.lease.Release)
		}
		g.SetDryRun(false)
	},
	// The next three tell of a call that a dry run let through while another one has a slot to lose.
	"displaced from a dry run's queue by one that waits": func(t *testing.T, g *gate.Gate, holder gate.Lease) {
		g.SetDryRun(true)
		shadow := start(t.Context(), g, gate.Call{Priority: gate.Low})
		g.SetDryRun(false)
		waiter := start(t.Context(), g, gate.Call{})
		end(holder.Release)
		<-waiter.done
		end(waiter.lease.Release)
		end(shadow.lease.Release)
	},
	"displaced from a dry run's queue by one that passes": func(t *testing.T, g *gate.Gate, holder gate.Lease) {
		g.SetDryRun(true)
		shadow := start(t.Context(), g, gate.Call{Priority: gate.Low})
		passed := start(t.Context(), g, gate.Call{})
		g.SetDryRun(false)
		end(holder.Release)
		end(passed.lease.Release)
		end(shadow.lease.Release)
	},
	"drained": func(t *testing.T, g *gate.Gate, holder gate.Lease) {
		waiter := start(t.Context(), g, gate.Call{})
		go end(func() { _ = g.Drain(t.Context()) })
		<-waiter.done
		end(waiter.lease.Release)
		end(holder.Release)
	},
}

// eachMoment goes through the moments with an observer that does something to the goroutine: each time at another one
// of the events, and once at all.
func eachMoment(t *testing.T, do func()) {
	for name, moment := range moments {
		t.Run(name, func(t *testing.T) {
			for nth := range 9 {
				synctest.Test(t, func(t *testing.T) {
					var told log
					enough := false
					told.onEvent = func(gate.Event) {
						told.mu.Lock()
						n := len(told.events)
						told.mu.Unlock()
						if !enough && (n == nth || nth == 0) {
							do()
						}
					}
					g := newGate(t, 1, gate.WithOnEvent(told.OnEvent), gate.WithMaxHold(time.Minute))
					var holder gate.Lease
					end(func() { holder = acquire(t, g, gate.Call{}) })
					moment(t, g, holder)
					synctest.Wait()
					wantNow(t, g, 0, 0)
					enough = true
				})
			}
		})
	}
}

func TestObserverPanicLosesNoSlot(t *testing.T) { eachMoment(t, func() { panic("observer") }) }

func TestObserverGoexitLosesNoSlot(t *testing.T) { eachMoment(t, goexit) }

func TestObserverPanicsAreCountedAndOthersStillTold(t *testing.T) {
	var told log
	g := newGate(t, 1, gate.WithOnEvent(func(context.Context, gate.Event) { panic("observer") }), gate.WithOnEvent(told.OnEvent))
	acquire(t, g, gate.Call{}).Release()
	wantEqual(t, "events", len(told.events), 2)
	wantEqual(t, "panics", g.Snapshot().ObserverPanics, 2)
}

func TestObserverOfAChainGoexitLosesNoSlot(t *testing.T) {
	for nth := range 7 {
		for _, full := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				var told log
				told.onEvent = func(gate.Event) {
					if len(told.events) == nth {
						goexit()
					}
				}
				hook := gate.WithOnEvent(told.OnEvent)
				narrow, middle := newNamed(t, "narrow", 1, hook), newNamed(t, "middle", 2, hook)
				wide := newNamed(t, "wide", 3, gate.WithMaxWait(0))
				if full {
					defer acquire(t, wide, gate.Call{Cost: 3}).Release()
				}
				end(func() {
					if lease, err := gate.Chain(wide, middle, narrow).Acquire(t.Context(), gate.Call{}); err == nil {
						lease.Release()
					}
				})
				wantNow(t, narrow, 0, 0)
				wantNow(t, middle, 0, 0)
			})
		}
	}
}

func TestCostThatPanicsLosesNoSlotOfAChain(t *testing.T) {
	narrow := newNamed(t, "narrow", 1)
	wide := newNamed(t, "wide", 2, gate.WithCost(func(gate.Call) int64 { panic("cost") }))
	wantEqual(t, "panic", end(func() { acquire(t, gate.Chain(narrow, wide), gate.Call{}) }), any("cost"))
	wantNow(t, narrow, 0, 0)
}

// moody is an observer that wants all events or none, and may panic over the question.
type moody struct {
	log
	wants func() bool
}

func (m *moody) Interest(context.Context) gate.Interest {
	if m.wants() {
		return gate.ObserveAll
	}
	return gate.ObserveNothing
}

func TestObserverWithoutInterestIsNotTold(t *testing.T) {
	g := newGate(t, 1)
	wants := true
	m := &moody{wants: func() bool { return wants }}
	_, added := g.Observe(m)
	wantEqual(t, "added", added, true)
	lease := acquire(t, g, gate.Call{})
	wants = false
	acquire(t, newGate(t, 1), gate.Call{}).Release()
	lease.Release()
	acquire(t, g, gate.Call{}).Release()
	wantEqual(t, "events", len(m.events), 1)
}

func TestObserverThatPanicsWhenAskedIsCounted(t *testing.T) {
	g := newGate(t, 1)
	g.Observe(&moody{wants: func() bool { panic("asked") }})
	var told log
	g.Observe(&moody{wants: func() bool { return true }, log: log{onEvent: told.append}})
	acquire(t, g, gate.Call{}).Release()
	wantNow(t, g, 0, 0)
	wantEqual(t, "events", len(told.events), 2)
	if g.Snapshot().ObserverPanics == 0 {
		t.Error("the panics were not counted")
	}
}

func (l *log) append(e gate.Event) { l.OnEvent(context.Background(), e) }

// once is an observer that is the same as all others of its name.
type once struct {
	*log
	name string
}

func (o once) Interest(context.Context) gate.Interest { return gate.ObserveAll }
func (o once) Same(other gate.Observer) bool {
	p, ok := other.(once)
	return ok && p.name == o.name
}

func TestTheSameObserverIsAddedOnce(t *testing.T) {
	g := newGate(t, 1)
	var told log
	first := once{&told, "a"}
	for _, step := range []struct {
		what        string
		o           once
		wantPresent gate.Observer
		wantAdded   bool
	}{
		{"first", first, first, true},
		{"the same", once{&log{}, "a"}, first, false},
		{"another", once{&told, "b"}, once{&told, "b"}, true},
	} {
		present, added := g.Observe(step.o)
		wantEqual(t, step.what+" is there", present, step.wantPresent)
		wantEqual(t, step.what+" was added", added, step.wantAdded)
	}
	acquire(t, g, gate.Call{}).Release()
	wantEqual(t, "events", len(told.events), 4)
}

func TestObserversOfWithOnEventSeeWhoCalls(t *testing.T) {
	var told log
	g := newGate(t, 1, gate.WithOnEvent(told.OnEvent))
	acquire(t, g, gate.Call{Caller: callerStub{"id", "192.0.2.1"}}).Release()
	acquire(t, g, gate.Call{Caller: callerStub{"id", "192.0.2.1"}, RequestID: "own"}).Release()
	wantEqual(t, "request id", told.events[0].Call.RequestID, "id")
	wantEqual(t, "remote ip", told.events[0].Call.RemoteIP, "192.0.2.1")
	wantEqual(t, "request id at the release", told.events[1].Call.RequestID, "id")
	wantEqual(t, "own request id", told.events[2].Call.RequestID, "own")
}

type callerStub struct{ requestID, remoteIP string }

func (c callerStub) Identify(context.Context) (requestID, remoteIP string) {
	return c.requestID, c.remoteIP
}
