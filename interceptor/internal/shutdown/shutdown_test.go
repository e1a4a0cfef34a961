package shutdown

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

// server is a server that writes down what is done to it, and when.
type server struct {
	t     *testing.T
	begun time.Time
	calls time.Duration // Stop waits that long for its calls
	mu    sync.Mutex
	notes []string
}

func newServer(t *testing.T, calls time.Duration) *server {
	return &server{t: t, begun: time.Now(), calls: calls}
}

func (s *server) note(what string) func() {
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.notes = append(s.notes, fmt.Sprint(what, " at ", time.Since(s.begun)))
	}
}

func (s *server) server() Server {
	return Server{Name: "pkg: Shutdown", Move: s.note("move"), Abort: s.note("abort"), Stop: func(ctx context.Context) error {
		s.note("stop")()
		pause(ctx, s.calls, nil)
		return nil
	}}
}

func (s *server) want(want ...string) {
	s.t.Helper()
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.Sort(s.notes) // what happens at one moment has no order
	slices.Sort(want)
	if !slices.Equal(s.notes, want) {
		s.t.Errorf("%q, want %q", s.notes, want)
	}
}

func (s *server) wantOver(after time.Duration) {
	s.t.Helper()
	if got := time.Since(s.begun); got != after {
		s.t.Errorf("Run returned after %s, want %s", got, after)
	}
}

// use holds a lease of the gate for a time.
func use(t *testing.T, g *gate.Gate, d time.Duration) {
	t.Helper()
	lease, err := g.TryAcquire(gate.Call{})
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(d, lease.Release)
}

// noteDrain writes down when the gate begins to drain.
func (s *server) noteDrain(g *gate.Gate) {
	go func() {
		<-g.Draining()
		s.note("drain " + g.Name())()
	}()
}

func TestServerIsNotReadyThenMovesItsClientsThenStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g := newServer(t, time.Minute), gate.Must(gate.New("db", 1))
		s.noteDrain(g)
		use(t, g, 30*time.Second)
		c := &Config{Grace: 5 * time.Second, NotReady: []func(){s.note("health"), s.note("readyz")}}
		if err := c.Run(t.Context(), s.server(), []*gate.Gate{g}); err != nil {
			t.Error(err)
		}
		s.want("health at 0s", "readyz at 0s", "move at 2.5s", "stop at 5s", "drain db at 5.1s")
		s.wantOver(65 * time.Second)
		s.notes, s.begun = nil, time.Now()
		if err := c.Run(t.Context(), s.server(), []*gate.Gate{g}); err != nil {
			t.Error(err)
		}
		s.want("health at 0s", "readyz at 0s", "stop at 0s") // the grace is over
	})
}

func TestWithoutAGraceNobodyIsMoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g := newServer(t, time.Minute), gate.Must(gate.New("db", 1))
		use(t, g, 2*time.Minute)
		if err := new(Config).Run(t.Context(), s.server(), []*gate.Gate{g}); err != nil {
			t.Error(err)
		}
		s.want("stop at 0s")
		s.wantOver(2 * time.Minute) // the gate is also used elsewhere
	})
}

func TestServerThatIsIdleTakesNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g := newServer(t, 0), gate.Must(gate.New("db", 1))
		if err := new(Config).Run(t.Context(), s.server(), []*gate.Gate{g}); err != nil {
			t.Error(err)
		}
		s.wantOver(0)
		if _, err := g.TryAcquire(gate.Call{}); err == nil {
			t.Error("the gate does not drain")
		}
	})
}

func TestEndOfTheContextAborts(t *testing.T) {
	for _, test := range []struct {
		name  string
		held  time.Duration // of each lease
		calls time.Duration
		ends  time.Duration
		notes []string
		want  []string
	}{
		{"leases", time.Hour, time.Hour, 20 * time.Second, []string{"abort at 20s", "stop at 5s"}, []string{
			`pkg: Shutdown: gate "db": 2 units in flight, 1 calls waiting: context deadline exceeded`,
			`pkg: Shutdown: gate "reports": 1 units in flight, 0 calls waiting: context deadline exceeded`,
		}},
		{"no leases", time.Second, time.Hour, 20 * time.Second, []string{"abort at 20s", "stop at 5s"}, []string{
			`pkg: Shutdown: calls in flight that hold no lease: context deadline exceeded`,
		}},
		{"the server has stopped", time.Hour, time.Second, 20 * time.Second, []string{"abort at 20s", "stop at 5s"}, []string{
			`pkg: Shutdown: gate "db": 2 units in flight, 1 calls waiting: context deadline exceeded`,
			`pkg: Shutdown: gate "reports": 1 units in flight, 0 calls waiting: context deadline exceeded`,
		}},
		{"within the grace", time.Second, time.Hour, 4 * time.Second, []string{"abort at 4s", "stop at 4s"}, []string{
			`pkg: Shutdown: calls in flight that hold no lease: context deadline exceeded`,
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), test.ends)
				defer cancel()
				s := newServer(t, test.calls)
				db := gate.Must(gate.New("db", 2, gate.WithMaxWait(time.Hour)))
				reports := gate.Must(gate.New("reports", 1))
				use(t, db, test.held)
				use(t, db, test.held)
				use(t, reports, test.held)
				go func() {
					if lease, err := db.Acquire(t.Context(), gate.Call{}); err == nil {
						lease.Release()
					}
				}()
				synctest.Wait()
				srv := s.server()
				srv.Move = nil
				err := (&Config{Grace: 5 * time.Second}).Run(ctx, srv, []*gate.Gate{db, reports})
				for _, g := range []*gate.Gate{db, reports} {
					if !g.Snapshot().Draining {
						t.Errorf("gate %s does not drain", g.Name())
					}
				}
				if err == nil || err.Error() != strings.Join(test.want, "\n") || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got error\n%v\nwant\n%s", err, strings.Join(test.want, "\n"))
				}
				s.want(test.notes...)
				s.wantOver(test.ends)
				time.Sleep(2 * time.Hour)
			})
		})
	}
}

func TestWhatElseGoesWrongIsReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, db := newServer(t, 0), gate.Must(gate.New("db", 1))
		use(t, db, time.Hour)
		time.AfterFunc(time.Minute, func() { _ = db.Reopen() })
		srv := s.server()
		closing := errors.New("close tcp: broken")
		srv.Stop = func(context.Context) error { return closing }
		err := new(Config).Run(t.Context(), srv, []*gate.Gate{nil, db})
		for _, want := range []error{closing, gate.ErrReopened} {
			if !errors.Is(err, want) {
				t.Errorf("got error %v, want %v in it", err, want)
			}
		}
		if want := "pkg: Shutdown: gate 0: want a gate, got nil"; !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %q in it", err, want)
		}
		time.Sleep(time.Hour)
	})
}
