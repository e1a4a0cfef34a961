package gate

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// recorder notes the events that it is told of.
type recorder struct {
	interest Interest
	asked    int

	mu     sync.Mutex
	events []string
}

func (r *recorder) Interest(context.Context) Interest {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked++
	return r.interest
}

func (r *recorder) OnEvent(_ context.Context, e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e.Call.Route+" "+e.Kind.String()+" "+e.Decision.String())
}

func TestObserversHearWhatInterestsThem(t *testing.T) {
	all := []string{
		"/holder decision accepted",
		"/second decision rejected_busy",
		"/early decision rejected_busy",
		"/timeout decision rejected_timeout",
		"/gone decision abandoned",
		"/gone_at_once decision abandoned",
		"/ended decision abandoned",
		"/holder max_hold ",
		"/holder release ",
		"/waits decision accepted", "/waits release ",
	}
	trouble := slices.DeleteFunc(slices.Clone(all), func(s string) bool {
		return s == "/holder decision accepted" || s == "/holder release "
	})
	// A call that had ended before it came is trouble only to those who hear all, or whom another
	// observer's interest lets hear of it.
	trouble = slices.DeleteFunc(trouble, func(s string) bool { return s == "/ended decision abandoned" })
	for _, tc := range []struct {
		name     string
		interest Interest
		want     []string
	}{
		{"nothing", ObserveNothing, nil},
		{"nothing, ever", ObserveNothing | ObserveFixed, nil},
		{"trouble", ObserveTrouble, trouble},
		{"trouble, ever", ObserveTrouble | ObserveFixed, trouble},
		{"all", ObserveAll, all},
		{"all, ever", ObserveAll | ObserveFixed, all},
		{"more than all", 77, all},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := Must(New("db", 1, WithMaxWaiting(1), WithMaxHold(time.Hour)))
				r := &recorder{interest: tc.interest}
				g.Observe(r)
				playTrouble(t, g)
				synctest.Wait()
				r.mu.Lock()
				defer r.mu.Unlock()
				if fixed := tc.interest&ObserveFixed != 0; fixed != (r.asked == 1) {
					t.Errorf("asked %d times, fixed is %v", r.asked, fixed)
				}
				slices.Sort(r.events)
				want := slices.Sorted(slices.Values(tc.want))
				if !slices.Equal(r.events, want) {
					t.Errorf("got  %q\nwant %q", r.events, want)
				}
			})
		})
	}
}

func TestTroubleInADryRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := Must(New("db", 1, WithMaxWaiting(1), WithDryRun()))
		r := &recorder{interest: ObserveTrouble}
		g.Observe(r)
		var leases []Lease
		for _, route := range []string{"/free", "/queue", "/full"} {
			lease, err := g.Acquire(t.Context(), Call{Route: route})
			if err != nil {
				t.Fatal(err)
			}
			leases = append(leases, lease)
		}
		time.Sleep(time.Second)
		for _, lease := range leases {
			lease.Release()
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		want := []string{"/full decision rejected_busy", "/queue decision rejected_timeout", "/queue release "}
		if !slices.Equal(r.events, want) {
			t.Errorf("got  %q\nwant %q", r.events, want)
		}
	})
}

// playTrouble lets all kinds of trouble come up at a gate of one unit.
func playTrouble(t *testing.T, g *Gate) {
	t.Helper()
	holder, err := g.Acquire(t.Context(), Call{Route: "/holder"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.TryAcquire(Call{Route: "/second"}); err == nil {
		t.Fatal("a full gate took one more")
	}
	if _, err := g.Acquire(t.Context(), Call{Route: "/timeout"}); err == nil {
		t.Fatal("a full gate took one more")
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Millisecond, cancel)
	if _, err := g.Acquire(ctx, Call{Route: "/gone"}); err == nil {
		t.Fatal("a full gate took one more")
	}
	if _, err := g.Acquire(ctx, Call{Route: "/ended"}); err == nil {
		t.Fatal("a call that has ended was admitted")
	}
	playAtOnce(t, g)
	time.Sleep(2 * time.Hour)
	time.AfterFunc(time.Millisecond, holder.Release)
	lease, err := g.Acquire(t.Context(), Call{Route: "/waits"})
	if err != nil {
		t.Fatal(err)
	}
	lease.Release()
}

// playAtOnce has calls that come and go without any time passing.
func playAtOnce(t *testing.T, g *Gate) {
	t.Helper()
	soon, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := g.RefuseEarly(soon, Call{Route: "/early"}); err == nil {
		t.Fatal("a call that has too little time to wait was not rejected")
	}
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error)
	go func() {
		_, err := g.Acquire(ctx, Call{Route: "/gone_at_once"})
		gone <- err
	}()
	synctest.Wait()
	cancel()
	if err := <-gone; err == nil {
		t.Fatal("a full gate took one more")
	}
}

// TestAReleaseIsToldIfTheAdmissionWas has one slot, whose first call is observed, and whose second one is not.
func TestAReleaseIsToldIfTheAdmissionWas(t *testing.T) {
	g := Must(New("db", 1))
	r := &recorder{}
	g.Observe(r)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for _, call := range []struct {
		route             string
		admitted, release Interest
		drain             bool // takes the release off its fast path
	}{
		{"/a", ObserveAll, ObserveAll, false},
		{"/b", ObserveNothing, ObserveAll, false},
		{"/c", ObserveAll, ObserveNothing, false},
		{"/d", ObserveNothing, ObserveAll, true},
	} {
		r.interest = call.admitted
		lease, err := g.Acquire(t.Context(), Call{Route: call.route})
		if err != nil {
			t.Fatal(err)
		}
		r.interest = call.release
		if call.drain {
			_ = g.Drain(over)
		}
		lease.Release()
	}
	want := []string{"/a decision accepted", "/a release ", "/c decision accepted"}
	if !slices.Equal(r.events, want) {
		t.Errorf("got  %q\nwant %q", r.events, want)
	}
}

// TestADryRunTellsLaterOnlyWhatItToldBefore has a call that a dry run lets pass, and that would have waited.
func TestADryRunTellsLaterOnlyWhatItToldBefore(t *testing.T) {
	for admitted, want := range map[Interest][]string{
		ObserveNothing: nil,
		ObserveAll:     {"/a decision accepted", "/a release ", "/b decision accepted", "/b release "},
	} {
		g := Must(New("db", 1, WithDryRun()))
		r := &recorder{interest: admitted}
		g.Observe(r)
		var leases []Lease
		for _, route := range []string{"/a", "/b"} {
			lease, err := g.Acquire(t.Context(), Call{Route: route})
			if err != nil {
				t.Fatal(err)
			}
			leases = append(leases, lease)
		}
		r.interest = ObserveAll
		for _, lease := range leases {
			lease.Release()
		}
		slices.Sort(r.events)
		if !slices.Equal(r.events, want) {
			t.Errorf("interest %d: got  %q\nwant %q", admitted, r.events, want)
		}
	}
}
