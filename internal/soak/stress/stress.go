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

// Counts say what a stress has done.
type Counts struct {
	Admitted, Rejected, Abandoned uint64
	Procs                         int // GOMAXPROCS
}

// Plus is the sum over runs with any number of processors.
func (c Counts) Plus(o Counts) Counts {
	return Counts{Admitted: c.Admitted + o.Admitted, Rejected: c.Rejected + o.Rejected, Abandoned: c.Abandoned + o.Abandoned}
}

// String is a line for people.
func (c Counts) String() string {
	s := fmt.Sprintf("%d admitted, %d rejected, %d abandoned", c.Admitted, c.Rejected, c.Abandoned)
	if c.Procs > 0 {
		s = fmt.Sprintf("GOMAXPROCS=%d: %s", c.Procs, s)
	}
	return s
}

const workers = 48

// Run lets many goroutines call at several gates for the given time, once for each number of processors. It is an
// error if ever more than the limit is inside, if a key has more than its share, or if in the end anything is in flight
// or waiting or the gate has counted differently.
func Run(total time.Duration, procs []int, seed uint64, progress func(Counts)) error {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	for i, n := range procs {
		runtime.GOMAXPROCS(n)
		counts, err := runOnce(total/time.Duration(len(procs)), seed+uint64(i))
		counts.Procs = n
		if err != nil {
			return fmt.Errorf("seed %d, %s: %w", seed, counts, err)
		}
		if progress != nil {
			progress(counts)
		}
	}
	return nil
}

func runOnce(d time.Duration, seed uint64) (Counts, error) {
	w, err := newWorld()
	if err != nil {
		return Counts{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	var all sync.WaitGroup
	for i := range uint64(workers) {
		all.Go(func() { w.work(ctx, rand.New(rand.NewPCG(seed, i))) })
	}
	all.Go(func() { w.meddle(ctx, rand.New(rand.NewPCG(seed, workers))) })
	all.Wait()
	w.late.Wait()
	return w.finish()
}

// world is some gates, and what is known to be inside them.
type world struct {
	gates  []*watched
	routes []string
	policy *gate.Policy
	late   sync.WaitGroup // leases that are given back by somebody else

	admitted, rejected, abandoned atomic.Uint64
	told, released                atomic.Uint64 // by events

	mu       sync.Mutex
	problems []string
}

// watched is a gate with a count of its own.
type watched struct {
	*gate.Gate
	most   int64 // the highest limit that it ever has; 0: it may be in a dry run, so nothing is too much
	keyCap int64
	inside atomic.Int64
	byKey  [4]atomic.Int64
}

func newWorld() (*world, error) {
	w := &world{}
	var errs []error
	add := func(name string, limit, most int64, options ...gate.Option) *gate.Gate {
		g, err := gate.New(name, limit, append(options, gate.WithOnEvent(w.onEvent))...)
		errs = append(errs, err)
		w.gates = append(w.gates, &watched{Gate: g, most: most})
		return g
	}
	ms := time.Millisecond
	plain := add("plain", 3, 3, gate.WithMaxWait(ms))
	wide := add("wide", 8, 8, gate.WithMaxWait(2*ms), gate.WithMaxWaiting(30), gate.WithMaxHold(5*ms))
	keyed := add("keyed", 6, 6, gate.WithMaxWait(ms), gate.WithKeyLimit(2), gate.WithReserve(gate.Critical, 1))
	moving := add("moving", 4, 9, gate.WithMaxWait(ms), gate.WithRetryDelayGrowth(time.Minute))
	dry := add("dry", 2, 0, gate.WithMaxWait(ms), gate.WithKeyShare(0.5))
	w.gates[2].keyCap = 2
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	policy, err := gate.NewPolicy(
		gate.Route("/plain", plain), gate.Route("/wide", wide).Cost(2), gate.Route("/keyed", keyed),
		gate.Route("/moving", moving), gate.Route("/dry", dry), gate.Route("/chain", wide, plain),
		gate.Route("/all", dry, moving, keyed, wide, plain),
	)
	w.policy = policy
	w.routes = strings.Fields("/plain /wide /keyed /moving /dry /chain /all")
	return w, err
}

// onEvent counts, and panics now and then.
func (w *world) onEvent(_ context.Context, e gate.Event) {
	switch {
	case e.Kind == gate.EventRelease:
		w.released.Add(1)
	case e.Kind == gate.EventDecision && e.Decision == gate.Accepted:
		if w.told.Add(1)%97 == 0 {
			panic("an observer's panic")
		}
	}
}

func (w *world) problem(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.problems = append(w.problems, fmt.Sprintf(format, args...))
}

// meddle changes limits, switches the dry run, cancels nobody and looks at everything.
func (w *world) meddle(ctx context.Context, r *rand.Rand) {
	moving, dry := w.gates[3], w.gates[4]
	for ctx.Err() == nil {
		if err := moving.SetLimit(1 + r.Int64N(moving.most)); err != nil {
			w.problem("%v", err)
		}
		if err := dry.SetLimit(1 + r.Int64N(3)); err != nil {
			w.problem("%v", err)
		}
		dry.SetDryRun(r.IntN(2) == 0)
		g := w.gates[r.IntN(len(w.gates))]
		if s := g.Snapshot(); g.most > 0 && s.InFlight > g.most || s.InFlight < 0 {
			w.problem("gate %s: %d in flight, want at most %d", g.Name(), s.InFlight, g.most)
		}
		g.Waiters()
		<-time.After(time.Duration(r.IntN(300)) * time.Microsecond)
	}
	dry.SetDryRun(false)
}

// finish checks what is left, which must be nothing.
func (w *world) finish() (Counts, error) {
	counts := Counts{Admitted: w.admitted.Load(), Rejected: w.rejected.Load(), Abandoned: w.abandoned.Load()}
	for _, g := range w.gates {
		s := g.Snapshot()
		if s.InFlight != 0 || s.Waiting != 0 || s.Keys != 0 || len(s.Holders) != 0 || g.inside.Load() != 0 {
			w.problem("gate %s at the end: %+v, want nothing in flight, waiting or booked", g.Name(), s)
		}
	}
	if counts.Admitted == 0 || counts.Rejected == 0 || counts.Abandoned == 0 {
		w.problem("not everything has happened")
	}
	if len(w.problems) > 0 {
		return counts, errors.New(strings.Join(w.problems[:min(len(w.problems), 10)], "\n"))
	}
	return counts, nil
}
