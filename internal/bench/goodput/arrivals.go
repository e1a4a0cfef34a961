package goodput

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

// phase is a time with so many arrivals a second.
type phase struct {
	perSecond float64
	length    time.Duration
}

// steady is one load, after some time for the pool to fill up.
func steady(perSecond float64, length time.Duration) []phase {
	return []phase{{perSecond, length / 3}, {perSecond, length}}
}

// call is what became of one.
type call struct {
	phase    int
	took     time.Duration // from when it was to be made
	answered bool          // in time
	refused  bool
}

// result is what became of the calls of all phases.
type result struct {
	plan  []phase
	calls []call
}

// openLoop makes calls that do not wait for each other: a call comes however many are there already.
func openLoop(seed uint64, a gate.Admitter, plan []phase) result {
	p, rng := newPool(seed), rand.New(rand.NewPCG(seed, 2))
	var mu sync.Mutex
	var calls sync.WaitGroup
	r := result{plan: plan}
	at := time.Now()
	end := at
	for i, ph := range plan {
		end = end.Add(ph.length)
		for {
			at = at.Add(time.Duration(rng.ExpFloat64() / ph.perSecond * float64(time.Second)))
			if at.After(end) {
				at = end
				break
			}
			if early := time.Until(at); early > 0 {
				time.Sleep(early)
			}
			due := at
			calls.Go(func() {
				c := one(p, a, due)
				c.phase = i
				mu.Lock()
				defer mu.Unlock()
				r.calls = append(r.calls, c)
			})
		}
	}
	calls.Wait()
	return r
}

// one makes a call that was due at a time.
func one(p *pool, a gate.Admitter, due time.Time) (c call) {
	ctx, cancel := context.WithDeadline(context.Background(), due.Add(deadline))
	defer cancel()
	defer func() { c.took = time.Since(due) }()
	if a != nil {
		lease, err := a.Acquire(ctx, gate.Call{})
		if err != nil {
			return call{refused: true}
		}
		defer lease.Release()
	}
	err := p.query(ctx)
	return call{answered: err == nil && time.Since(due) <= deadline}
}

// measured are the calls of the last phase that f is true for, as sorted times.
func (r result) measured(f func(call) bool) []time.Duration {
	var took []time.Duration
	for _, c := range r.calls {
		if c.phase == len(r.plan)-1 && f(c) {
			took = append(took, c.took)
		}
	}
	slices.Sort(took)
	return took
}

// goodput is the calls of the last phase that were answered in time, a second.
func (r result) goodput() float64 {
	answered := r.measured(func(c call) bool { return c.answered })
	return float64(len(answered)) / r.plan[len(r.plan)-1].length.Seconds()
}

// latency is a quantile of those that were let in, in ms.
func (r result) latency(q float64) float64 {
	return at(r.measured(func(c call) bool { return !c.refused }), q)
}

// refusal is a quantile of those that were not.
func (r result) refusal(q float64) float64 {
	return at(r.measured(func(c call) bool { return c.refused }), q)
}

// inTime is the share of a phase's arrivals that were answered in time.
func (r result) inTime(phase int) float64 {
	all, answered := 0, 0
	for _, c := range r.calls {
		if c.phase != phase {
			continue
		}
		if all++; c.answered {
			answered++
		}
	}
	return float64(answered) / float64(all)
}

// at is a quantile of sorted times, in ms; 0 if there are none.
func at(sorted []time.Duration, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return float64(sorted[int(q*float64(len(sorted)-1))].Microseconds()) / 1000
}
