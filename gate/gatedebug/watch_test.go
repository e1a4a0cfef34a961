package gatedebug

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/gate/internal/era"
)

// rushing is a gate whose calls are made up.
type rushing struct {
	t *testing.T
	w *watch
}

func newRushing(t *testing.T, opts ...gate.Option) rushing {
	return rushing{t, attach(mustGate(t, "db", 2, opts...), 0, 5, config{}, func(era.Era) {})}
}

func (r rushing) decide(d gate.Decision, waited time.Duration) {
	e := gate.Event{Kind: gate.EventDecision, Gate: "db", Decision: d, Waited: waited, InFlight: 2, Limit: 2, Waiting: 1}
	if d.Rejected() {
		e.Reason = gate.ReasonQueueFull
	}
	r.w.OnEvent(context.Background(), e)
}

func (r rushing) expect(state string, since time.Duration) {
	r.t.Helper()
	s := r.w.gate.Overview()
	st := r.w.status(time.Now(), &s, pace{})
	begin := time.Duration(-1)
	if !st.Since.IsZero() {
		begin = st.Since.Sub(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))
	}
	if st.State != state || begin != since {
		r.t.Errorf("want %s since %s, got %s since %s", state, since, st.State, begin)
	}
}

func TestTroubleHasABeginningAndAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const none = time.Duration(-1)
		r := newRushing(t) // waits up to 100 ms, so 25 ms are long
		r.expect(stateOK, none)
		time.Sleep(time.Minute)
		r.decide(gate.Accepted, 24*time.Millisecond)
		r.expect(stateOK, none)
		r.decide(gate.Accepted, 25*time.Millisecond)
		r.expect(stateWaiting, time.Minute-25*time.Millisecond)
		time.Sleep(recently + time.Millisecond)
		r.expect(stateOK, none)
		time.Sleep(calmAfter - recently - time.Millisecond)
		r.decide(gate.Accepted, 50*time.Millisecond) // soon enough to be the same trouble
		r.expect(stateWaiting, time.Minute-25*time.Millisecond)
		r.decide(gate.RejectedTimeout, 100*time.Millisecond)
		r.expect(stateRefusing, 70*time.Second) // not since calls wait
		time.Sleep(recently)
		r.expect(stateRefusing, 70*time.Second)
		r.decide(gate.Accepted, 50*time.Millisecond)
		time.Sleep(time.Millisecond)
		r.expect(stateWaiting, time.Minute-25*time.Millisecond)
		time.Sleep(recently)
		r.expect(stateOK, none)
		time.Sleep(calmAfter - 2*recently)
		r.decide(gate.RejectedBusy, 0)
		r.expect(stateRefusing, 80*time.Second+time.Millisecond)
		s := r.w.gate.Overview()
		if last := r.w.status(time.Now(), &s, pace{}).LastRejected; !last.Equal(time.Now()) {
			t.Errorf("last rejected at %s, want now", last)
		}
		time.Sleep(time.Hour)
		r.expect(stateOK, none)
		if ago := time.Since(r.w.status(time.Now(), &s, pace{}).LastRejected); ago != time.Hour {
			t.Errorf("last rejected %s ago, want an hour", ago)
		}
	})
}

// A gate that refuses without a queue is not said to let calls wait when it is calm again.
func TestCalmAgainAfterTheLastRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRushing(t)
		for range 20 {
			r.decide(gate.RejectedBusy, 0)
			time.Sleep(time.Second)
			r.expect(stateRefusing, 0)
		}
		time.Sleep(recently)
		r.expect(stateOK, -1)
	})
}

func TestStatesOfAGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRushing(t)
		a := hold(t, r.w.gate, gate.Call{})
		r.expect(stateOK, -1)
		hold(t, r.w.gate, gate.Call{})
		r.expect(stateFull, -1)
		go r.w.gate.Acquire(t.Context(), gate.Call{})
		time.Sleep(time.Millisecond)
		r.expect(stateFull, -1)
		s := r.w.gate.Overview()
		enforced := r.w.status(time.Now(), &s, pace{}).Pressure
		s.DryRun = true
		if dry := r.w.status(time.Now(), &s, pace{}).Pressure; dry != enforced/2 {
			t.Errorf("pressure of a dry run: want %v, got %v", enforced/2, dry)
		}
		a.Release()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_ = r.w.gate.Drain(ctx)
		r.expect(stateDraining, -1)
	})
}

func TestPressureOrdersGates(t *testing.T) {
	severity := func(accepted, rejected float64) float64 {
		p := pace{}
		p.add(accepted, rejected, time.Hour)
		return p.severity()
	}
	worse := []float64{
		severity(1000, 0), severity(1000, 1), severity(0, 0.2), severity(1000, 50), severity(5, 10), severity(300, 600), severity(1, 5000),
	}
	for i := 1; i < len(worse); i++ {
		if worse[i] <= worse[i-1] || worse[i] > 1 {
			t.Errorf("severity %d: %v is not between %v and 1", i, worse[i], worse[i-1])
		}
	}
}

func TestLastHourByMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRushing(t)
		minutesOf := func() []minute { return r.w.hour.list(time.Now(), minutes-1) }
		if m := minutesOf(); len(m) != 0 || r.w.hour.ring != nil {
			t.Errorf("a gate without trouble takes memory: %+v", m)
		}
		r.decide(gate.RejectedBusy, 0)
		r.decide(gate.Accepted, 30*time.Millisecond)
		r.decide(gate.Abandoned, 70*time.Millisecond)
		r.decide(gate.Accepted, 0) // not in trouble
		time.Sleep(61 * time.Second)
		r.decide(gate.RejectedTimeout, 100*time.Millisecond)
		want := []minute{
			{Unix: 946684800, Rejected: 1, Abandoned: 1, Waited: 1, WaitedMax: 70, InFlight: 2, Waiting: 1},
			{Unix: 946684860, Rejected: 1, WaitedMax: 100, InFlight: 2, Waiting: 1},
		}
		if got := minutesOf(); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
		time.Sleep(59 * time.Minute)
		if got := minutesOf(); len(got) != 1 || got[0] != want[1] {
			t.Errorf("an hour later: %+v", got)
		}
		time.Sleep(24 * time.Hour)
		r.decide(gate.RejectedBusy, 0)
		if got := minutesOf(); len(got) != 1 || got[0].Rejected != 1 {
			t.Errorf("a day later: %+v", got)
		}
	})
}

// A lease that is held too long is an event of ObserveTrouble, but no decision: the
// page shows the lease with its age, and nothing else changes.
func TestLeaseHeldTooLongIsNoDecision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := mustGate(t, "db", 2, gate.WithMaxHold(3*time.Second))
		heard := 0
		db.Observe(troubleOf(func(gate.Event) { heard++ }))
		w, probe := newPage([]*gate.Gate{db}).hub.watches[0], Health(db)
		hold(t, db, gate.Call{Route: "/report"})
		time.Sleep(time.Minute)
		synctest.Wait()
		if heard != 1 {
			t.Fatalf("want one event of trouble, got %d", heard)
		}
		got := w.state(time.Now(), 10)
		if got.State != stateOK || !got.Since.IsZero() || len(got.Minutes) != 0 || len(got.Rejections) != 0 {
			t.Errorf("state %s since %v, minutes %v, rejections %v", got.State, got.Since, got.Minutes, got.Rejections)
		}
		if len(got.Holders) != 1 || got.Holders[0].Age != time.Minute {
			t.Errorf("holders %+v", got.Holders)
		}
		if s := decode[healthAnswer](t, request(probe, "GET", "/healthz", "").Body.Bytes()); s.Status != StatusOK {
			t.Errorf("health: %+v", s)
		}
	})
}

// troubleOf is an observer of trouble.
type troubleOf func(gate.Event)

func (troubleOf) Interest(context.Context) gate.Interest {
	return gate.ObserveTrouble | gate.ObserveFixed
}

func (f troubleOf) OnEvent(_ context.Context, e gate.Event) { f(e) }

func TestRejectionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		db := mustGate(t, "db", 1, gate.WithMaxWait(0))
		w := attach(db, 0, 5, config{traceID: func(context.Context) string { calls++; return fmt.Sprint("trace-", calls) }}, func(era.Era) {})
		hold(t, db, gate.Call{})
		for i := range 1000 {
			refuse(t, db, gate.Call{RequestID: fmt.Sprint("r", i)})
		}
		if calls != keepPerSecond {
			t.Errorf("a flood asked for %d trace ids, want %d", calls, keepPerSecond)
		}
		list := w.rejections.after(0)
		if len(list) != 5 || list[0].Seq != 16 || list[4].Seq != 20 || list[4].RequestID != "r19" || list[4].TraceID != "trace-20" {
			t.Errorf("%+v", list)
		}
		if list := w.rejections.after(18); len(list) != 2 || list[0].Seq != 19 {
			t.Errorf("%+v", list)
		}
		if list := w.rejections.after(20); len(list) != 0 {
			t.Errorf("%+v", list)
		}
		time.Sleep(time.Second)
		refuse(t, db, gate.Call{RequestID: "later"})
		if list := w.rejections.after(20); len(list) != 1 || list[0].RequestID != "later" {
			t.Errorf("%+v", list)
		}
	})
}

func TestTraceIDThatPanicsHarmsNobody(t *testing.T) {
	db := mustGate(t, "db", 1, gate.WithMaxWait(0))
	p := Handler(db, WithTraceID(func(context.Context) string { panic("no tracer") }))
	hold(t, db, gate.Call{})
	refuse(t, db, gate.Call{})
	refuse(t, db, gate.Call{})
	if n := db.Overview().ObserverPanics; n != 2 {
		t.Errorf("want 2 panics counted, got %d", n)
	}
	if w := request(p, "GET", "/state.json", ""); w.Code != 200 {
		t.Errorf("the page is gone: %d", w.Code)
	}
}

func TestRoutesAreBounded(t *testing.T) {
	w := attach(mustGate(t, "db", 1), 0, 5, config{}, func(era.Era) {})
	w.open.Add(1)
	call := func(route string, unknown bool) {
		w.OnEvent(context.Background(), gate.Event{
			Kind: gate.EventDecision, Decision: gate.Accepted, Call: gate.Call{Route: route, UnknownRoute: unknown},
		})
	}
	call("/invented", true)
	for i := range 1000 {
		call(fmt.Sprint("/", i), false)
	}
	rows := w.takeRoutes(time.Second)
	var other float64
	for _, r := range rows {
		if r.Route == otherRoute {
			other = r.Accepted
		}
	}
	if len(rows) != maxRoutes || other != 1001-(maxRoutes-1) {
		t.Errorf("want %d routes, got %d with %v calls of others", maxRoutes, len(rows), other)
	}
	for range idleSamples + 1 { // routes without a call make room
		w.takeRoutes(time.Second)
	}
	call("/new", false)
	if rows := w.takeRoutes(time.Second); len(rows) != 1 || rows[0].Route != "/new" {
		t.Errorf("got %+v", rows)
	}
}
