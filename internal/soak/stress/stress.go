package stress

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

// Options say how long to run, and what else to look at.
type Options struct {
	For   time.Duration
	Procs []int // one run for each number of processors
	Seed  uint64
	// Check, if it is not nil, is asked again and again during a run.
	Check func(*gate.Gate) error
	// Progress, if it is not nil, hears of each run.
	Progress func(Counts)
}

// Counts say what a stress has done.
type Counts struct {
	Admitted, Rejected, Abandoned uint64
	Passed                        uint64 // nested calls that hold all their gates already
	TooLong                       uint64 // leases reported by WithMaxHold
	Drained, Reopened             uint64 // results of Drain
	Procs                         int    // GOMAXPROCS
}

// Plus is the sum over runs with any number of processors.
func (c Counts) Plus(o Counts) Counts {
	return Counts{
		Admitted: c.Admitted + o.Admitted, Rejected: c.Rejected + o.Rejected, Abandoned: c.Abandoned + o.Abandoned,
		Passed: c.Passed + o.Passed, TooLong: c.TooLong + o.TooLong,
		Drained: c.Drained + o.Drained, Reopened: c.Reopened + o.Reopened,
	}
}

// String is a line for people.
func (c Counts) String() string {
	s := fmt.Sprintf("%d admitted, %d rejected, %d abandoned, %d passed; %d held too long; %d drained, %d reopened",
		c.Admitted, c.Rejected, c.Abandoned, c.Passed, c.TooLong, c.Drained, c.Reopened)
	if c.Procs > 0 {
		s = fmt.Sprintf("GOMAXPROCS=%d: %s", c.Procs, s)
	}
	return s
}

const workers = 48

// Run lets many goroutines call at several gates for the given time, once for each number of processors. It is an
// error if ever more than the limit is inside, if a key has more than its share, if a drained gate has a call, or if in
// the end anything is in flight or waiting or the gate has counted differently.
func Run(o Options) error {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	for i, n := range o.Procs {
		runtime.GOMAXPROCS(n)
		counts, err := o.runOnce(o.For/time.Duration(len(o.Procs)), o.Seed+uint64(i))
		counts.Procs = n
		if err != nil {
			return fmt.Errorf("seed %d, %s: %w", o.Seed, counts, err)
		}
		if o.Progress != nil {
			o.Progress(counts)
		}
	}
	return nil
}

func (o Options) runOnce(d time.Duration, seed uint64) (Counts, error) {
	w, err := newWorld()
	if err != nil {
		return Counts{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	var all sync.WaitGroup
	start := func(i int, f func(context.Context, *rand.Rand)) {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		all.Go(func() { f(ctx, r) })
	}
	for i := range workers {
		start(i, w.work)
	}
	start(workers, func(ctx context.Context, r *rand.Rand) { w.meddle(ctx, r, o.Check) })
	start(workers+1, w.drainAndReopen)
	all.Wait()
	w.late.Wait()
	return w.finish()
}

// world is some gates, and what is known to be inside them.
type world struct {
	gates  []*watched
	routes []string
	needs  map[string]set // the gates of each route
	policy *gate.Policy
	fickle []*fickle
	late   sync.WaitGroup // leases that are given back by somebody else

	calls, admitted, rejected, abandoned, passed atomic.Uint64
	tooLong, drained, reopened                   atomic.Uint64

	mu       sync.Mutex
	reported map[string]bool // the calls whose leases were held too long
	problems []string
}

// set has a bit for each gate.
type set uint

const (
	plain set = 1 << iota
	wide
	keyed
	moving
	dry
	drained
	all = drained<<1 - 1
)

// watched is a gate with counts of its own.
type watched struct {
	*gate.Gate
	most     int64 // the highest limit that it ever has; 0: it may be in a dry run, so nothing is too much
	keyCap   int64
	inside   atomic.Int64
	byKey    [4]atomic.Int64
	observed bool
	told     [gate.Abandoned + 1]atomic.Uint64
}

// newWorld makes some gates that tell of every event, and some whose calls may take the fast path.
func newWorld() (*world, error) {
	w := &world{reported: map[string]bool{}}
	var errs []error
	add := func(name string, limit, most int64, observed bool, options ...gate.Option) *watched {
		g := &watched{most: most, observed: observed}
		if observed {
			options = append(options, gate.WithOnEvent(g.onEvent))
		}
		made, err := gate.New(name, limit, options...)
		errs = append(errs, err)
		g.Gate = made
		w.gates = append(w.gates, g)
		return g
	}
	ms := time.Millisecond
	add("plain", 3, 3, false, gate.WithMaxWait(ms))
	add("wide", 8, 8, false, gate.WithMaxWait(2*ms), gate.WithMaxWaiting(30), gate.WithMaxHold(2*ms))
	add("keyed", 6, 6, true, gate.WithMaxWait(ms), gate.WithKeyLimit(2), gate.WithReserve(gate.Critical, 1)).keyCap = 2
	add("moving", 4, 9, true, gate.WithMaxWait(ms), gate.WithRetryDelayGrowth(time.Minute))
	add("dry", 2, 0, true, gate.WithMaxWait(ms), gate.WithKeyShare(0.5))
	add("drained", 4, 4, false, gate.WithMaxWait(ms))
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	w.observe()
	return w, w.route()
}

// route makes the policy.
func (w *world) route() (err error) {
	w.needs = map[string]set{
		"/plain": plain, "/wide": wide, "/keyed": keyed, "/moving": moving, "/dry": dry, "/drained": drained,
		"/two": wide | plain, "/three": wide | drained | moving, "/all": all, "/none": 0,
	}
	rules := []gate.Rule{gate.Exempt("/none")}
	for route, needs := range w.needs {
		w.routes = append(w.routes, route)
		var gates []*gate.Gate
		for _, g := range w.in(needs) {
			gates = append(gates, g.Gate)
		}
		if needs == wide {
			rules = append(rules, gate.Route(route, gates...).Cost(2))
		} else if needs != 0 {
			rules = append(rules, gate.Route(route, gates...))
		}
	}
	w.policy, err = gate.NewPolicy(rules...)
	return err
}

// in are the gates of a set.
func (w *world) in(s set) []*watched {
	var found []*watched
	for i, g := range w.gates {
		if s&(1<<i) != 0 {
			found = append(found, g)
		}
	}
	return found
}

func (w *world) problem(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.problems = append(w.problems, fmt.Sprintf(format, args...))
}

// finish checks what is left, which must be nothing.
func (w *world) finish() (Counts, error) {
	counts := Counts{
		Admitted: w.admitted.Load(), Rejected: w.rejected.Load(), Abandoned: w.abandoned.Load(), Passed: w.passed.Load(),
		TooLong: w.tooLong.Load(), Drained: w.drained.Load(), Reopened: w.reopened.Load(),
	}
	for _, g := range w.gates {
		s := g.Snapshot()
		if s.InFlight != 0 || s.Waiting != 0 || s.Keys != 0 || len(s.Holders) != 0 || g.inside.Load() != 0 {
			w.problem("gate %s at the end: %+v, want nothing in flight, waiting or booked", g.Name(), s)
		}
		if err := g.compareTotals(s.Totals); err != nil {
			w.problem("gate %s at the end: %v", g.Name(), err)
		}
	}
	for _, n := range []uint64{
		counts.Admitted, counts.Rejected, counts.Abandoned, counts.Passed, counts.TooLong, counts.Drained, counts.Reopened,
	} {
		if n == 0 {
			w.problem("not everything has happened")
		}
	}
	if len(w.problems) > 0 {
		return counts, errors.New(strings.Join(w.problems[:min(len(w.problems), 10)], "\n"))
	}
	return counts, nil
}
