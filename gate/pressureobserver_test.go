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
	enabled bool

	mu     sync.Mutex
	events []string
}

func (r *recorder) Enabled(context.Context) bool { return r.enabled }
func (r *recorder) OnEvent(_ context.Context, e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e.Call.Route+" "+e.Kind.String()+" "+e.Decision.String())
}

// pressed is a recorder of trouble.
type pressed struct {
	*recorder
	only bool
}

func (p pressed) ObservesPressure() bool { return true }
func (p pressed) PressureOnly() bool     { return p.only }

func TestPressureObserverHearsOfTroubleOnly(t *testing.T) {
	all := []string{
		"/holder decision accepted",
		"/second decision rejected_busy",
		"/timeout decision rejected_timeout",
		"/gone decision abandoned",
		"/holder release ",
		"/waits decision accepted", "/waits release ",
	}
	trouble := slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s[:7] == "/holder" })
	for _, tc := range []struct {
		name                    string
		enabled, pressure, only bool
		want                    []string
	}{
		{"disabled", false, false, false, nil},
		{"pressure", false, true, false, trouble},
		{"pressure only", false, true, true, trouble},
		{"enabled", true, false, false, all},
		{"both", true, true, false, all},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := Must(New("db", 1, WithMaxWaiting(1)))
				r := &recorder{enabled: tc.enabled}
				if tc.pressure {
					g.Observe(pressed{r, tc.only})
				} else {
					g.Observe(r)
				}
				if g.plain.Load() != tc.only {
					t.Errorf("the shortest way is open: %v", g.plain.Load())
				}
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
				time.AfterFunc(time.Millisecond, holder.Release)
				lease, err := g.Acquire(t.Context(), Call{Route: "/waits"})
				if err != nil {
					t.Fatal(err)
				}
				lease.Release()
				synctest.Wait()
				r.mu.Lock()
				defer r.mu.Unlock()
				slices.Sort(r.events)
				slices.Sort(tc.want)
				if !slices.Equal(r.events, tc.want) {
					t.Errorf("got  %q\nwant %q", r.events, tc.want)
				}
			})
		})
	}
}

func TestPressureObserverInADryRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := Must(New("db", 1, WithMaxWaiting(1), WithDryRun()))
		r := &recorder{}
		g.Observe(pressed{r, false})
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
