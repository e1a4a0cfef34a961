package gate_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

func TestHoldersAreListedOldestFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 10, gate.WithMaxHold(time.Hour))
		var leases []gate.Lease
		for _, call := range []gate.Call{
			{Route: "/a/first", RequestID: "1", RemoteIP: "192.0.2.1", Key: "ann", Cost: 3},
			{Route: "/a/second", Caller: callerStub{"2", "192.0.2.2"}, Priority: gate.Low},
			{Route: "/a/third", Caller: callerStub{"not this", "192.0.2.3"}, RequestID: "3", Priority: gate.Critical},
		} {
			leases = append(leases, acquire(t, g, call))
			advance(time.Second)
		}
		leases[1].Release() // its slot is reused: the order is that of admission, not of slots
		leases = append(leases, acquire(t, g, gate.Call{Route: "/a/fourth"}))
		advance(time.Second)
		want := []gate.Holder{
			{Route: "/a/first", RequestID: "1", RemoteIP: "192.0.2.1", Key: "ann", Cost: 3, Age: 4 * time.Second},
			{Route: "/a/third", RequestID: "3", RemoteIP: "192.0.2.3", Cost: 1, Priority: gate.Critical, Age: 2 * time.Second},
			{Route: "/a/fourth", Cost: 1, Age: time.Second},
		}
		got := g.Snapshot().Holders
		if len(got) != len(want) {
			t.Fatalf("holders: %+v", got)
		}
		for i := range want {
			got[i].Call = gate.Call{}
			wantEqual(t, "holder", got[i], want[i])
		}
		for _, lease := range leases {
			lease.Release()
		}
	})
}

// TestHoldersOfAnUnwatchedGateAgeFromTheFirstSnapshot is also the proof that a call that is admitted at once does not
// make the gate look at the clock: had it looked, it would know.
func TestHoldersOfAnUnwatchedGateAgeFromTheFirstSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 2)
		before := acquire(t, g, gate.Call{})
		advance(time.Hour)
		wantEqual(t, "age at the first snapshot", g.Snapshot().Holders[0].Age, 0)
		after := acquire(t, g, gate.Call{})
		advance(time.Minute)
		holders := g.Snapshot().Holders
		wantEqual(t, "age of who came before it", holders[0].Age, time.Minute)
		wantEqual(t, "age of who came after it", holders[1].Age, time.Minute)
		before.Release()
		after.Release()
	})
}

func TestHoldersThatWaitedAgeFromTheirAdmission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 1)
		holder := acquire(t, g, gate.Call{})
		waiter := start(t.Context(), g, gate.Call{})
		advance(50 * time.Millisecond)
		holder.Release()
		lease := waiter.admitted(t)
		advance(time.Second)
		wantEqual(t, "age", g.Snapshot().Holders[0].Age, time.Second)
		lease.Release()
	})
}

func TestMaxHoldReportsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told log
		g := newGate(t, 3, gate.WithMaxHold(time.Minute), gate.WithOnEvent(told.OnEvent))
		stuck := acquire(t, g, gate.Call{Route: "/stuck", RequestID: "7"})
		advance(20 * time.Second)
		later := acquire(t, g, gate.Call{Route: "/later"})
		quick := acquire(t, g, gate.Call{Route: "/quick"})
		advance(39 * time.Second)
		quick.Release()
		wantEqual(t, "reports before the time", len(told.of(gate.EventMaxHold)), 0)
		advance(time.Second)
		reports := told.of(gate.EventMaxHold)
		if len(reports) != 1 {
			t.Fatalf("reports: %+v, want one", reports)
		}
		wantEqual(t, "route", reports[0].Call.Route, "/stuck")
		wantEqual(t, "request id", reports[0].Call.RequestID, "7")
		wantEqual(t, "held", reports[0].Held, time.Minute)
		wantEqual(t, "in flight", reports[0].InFlight, 2)
		wantEqual(t, "decision", reports[0].Decision, 0)
		advance(20 * time.Second)
		reports = told.of(gate.EventMaxHold)
		wantEqual(t, "reports after another 20 s", len(reports), 2)
		wantEqual(t, "route", reports[1].Call.Route, "/later")
		wantEqual(t, "held", reports[1].Held, time.Minute)
		advance(time.Hour)
		wantEqual(t, "reports after an hour", len(told.of(gate.EventMaxHold)), 2)
		wantNow(t, g, 2, 0) // nothing is taken away from the holders
		stuck.Release()
		later.Release()
	})
}

func TestMaxHoldReportsTheNextUseOfASlotAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told log
		g := newGate(t, 1, gate.WithMaxHold(time.Second), gate.WithOnEvent(told.OnEvent))
		for n := 1; n <= 3; n++ {
			lease := acquire(t, g, gate.Call{})
			advance(time.Second)
			wantEqual(t, "reports", len(told.of(gate.EventMaxHold)), n)
			lease.Release()
			advance(time.Hour)
			wantEqual(t, "reports of an empty gate", len(told.of(gate.EventMaxHold)), n)
		}
	})
}

func TestMaxHoldDoesNotCountTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told log
		g := newGate(t, 1, gate.WithMaxHold(80*time.Millisecond), gate.WithOnEvent(told.OnEvent))
		holder := acquire(t, g, gate.Call{})
		waiter := start(t.Context(), g, gate.Call{})
		advance(70 * time.Millisecond)
		holder.Release()
		lease := waiter.admitted(t)
		advance(79 * time.Millisecond)
		wantEqual(t, "reports", len(told.of(gate.EventMaxHold)), 0)
		advance(time.Millisecond)
		reports := told.of(gate.EventMaxHold)
		wantEqual(t, "reports", len(reports), 1)
		wantEqual(t, "held", reports[0].Held, 80*time.Millisecond)
		wantEqual(t, "waited", reports[0].Waited, 70*time.Millisecond)
		lease.Release()
	})
}

func TestMaxHoldWatchesAWaiterAfterAllOthersWereReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told log
		g := newGate(t, 1, gate.WithMaxHold(50*time.Millisecond), gate.WithOnEvent(told.OnEvent))
		holder := acquire(t, g, gate.Call{})
		advance(20 * time.Millisecond)
		waiter := start(t.Context(), g, gate.Call{Route: "/waiter"})
		advance(70 * time.Millisecond)
		wantEqual(t, "reports", len(told.of(gate.EventMaxHold)), 1)
		holder.Release()
		lease := waiter.admitted(t)
		advance(50 * time.Millisecond)
		reports := told.of(gate.EventMaxHold)
		wantEqual(t, "reports", len(reports), 2)
		wantEqual(t, "route", reports[1].Call.Route, "/waiter")
		lease.Release()
	})
}

func TestMaxHoldSeesWhoPassedADryRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told log
		g := newGate(t, 1, gate.WithMaxHold(time.Second), gate.WithOnEvent(told.OnEvent), gate.WithDryRun())
		leases := []gate.Lease{acquire(t, g, gate.Call{}), acquire(t, g, gate.Call{}), acquire(t, g, gate.Call{})}
		advance(time.Second)
		wantEqual(t, "reports", len(told.of(gate.EventMaxHold)), 3)
		for _, lease := range leases {
			lease.Release()
		}
	})
}

func TestHoldersEndWithTheirLease(t *testing.T) {
	g := newGate(t, 2)
	lease := acquire(t, g, gate.Call{Route: "/a/b", Caller: callerStub{"1", "192.0.2.1"}})
	wantEqual(t, "holders", len(g.Snapshot().Holders), 1)
	lease.Release()
	wantEqual(t, "holders", len(g.Snapshot().Holders), 0)
	defer acquire(t, g, gate.Call{}).Release()
	holders := g.Snapshot().Holders
	wantEqual(t, "holders", len(holders), 1)
	wantEqual(t, "route of the next", holders[0].Route, "")
	wantEqual(t, "id of the next", holders[0].RequestID, "")
}

// TestMaxHoldReportsEachOfManyLeasesOnce has more leases than are reported at a time, some of them given back early.
func TestMaxHoldReportsEachOfManyLeasesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const leases = 1000
		var mu sync.Mutex
		told := map[string]time.Duration{}
		g := newGate(t, leases, gate.WithMaxHold(time.Minute), gate.WithOnEvent(func(_ context.Context, e gate.Event) {
			if e.Kind == gate.EventMaxHold {
				mu.Lock()
				defer mu.Unlock()
				told[e.Call.Route] += e.Held
			}
		}))
		held := make([]gate.Lease, leases)
		for i := range held {
			held[i] = acquire(t, g, gate.Call{Route: strconv.Itoa(i)})
			if i%100 == 99 {
				advance(time.Second)
			}
		}
		for i := range held {
			if i%3 == 0 {
				held[i].Release()
			}
		}
		advance(50 * time.Second)
		mu.Lock()
		wantEqual(t, "told when the first ones are due", len(told), 66)
		mu.Unlock()
		advance(10 * time.Second)
		for i := range held {
			want := time.Minute
			if i%3 == 0 {
				want = 0
			}
			if got := told[strconv.Itoa(i)]; got != want {
				t.Errorf("lease %d was reported after %s, want %s", i, got, want)
			}
			held[i].Release()
		}
		advance(time.Hour)
	})
}

// TestHoldersAreIdentifiedByTheContextsOfTheirCalls has a Caller that looks at nothing else, on each way into the gate.
func TestHoldersAreIdentifiedByTheContextsOfTheirCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, 2)
		enter := func(id string) *attempt {
			return start(context.WithValue(t.Context(), idInContext{}, id), g, gate.Call{Caller: idInContext{}})
		}
		enter("new slot").admitted(t).Release()
		free := enter("free slot").admitted(t)
		holder := acquire(t, g, gate.Call{RequestID: "holder"})
		waiter := enter("waiter")
		wantEqual(t, "waiter", g.Waiters()[0].RequestID, "waiter")
		holder.Release()
		lease := waiter.admitted(t)
		for i, want := range []string{"free slot", "waiter"} {
			wantEqual(t, "holder", g.Snapshot().Holders[i].RequestID, want)
		}
		free.Release()
		lease.Release()
	})
}

// idInContext is the key of a request id in a context, and the Caller that finds it there.
type idInContext struct{}

func (k idInContext) Identify(ctx context.Context) (requestID, remoteIP string) {
	requestID, _ = ctx.Value(k).(string)
	return requestID, ""
}
