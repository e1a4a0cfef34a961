// Package stress lets many goroutines loose on gates, in real time and on several processors, and counts what it gets.
package stress

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

// RaceCounts say how the races ended.
type RaceCounts struct {
	Races, Admitted, Cancelled, Refused int
}

// String is a line for people.
func (c RaceCounts) String() string {
	return fmt.Sprintf("%d races: %d admitted, %d cancelled, %d refused", c.Races, c.Admitted, c.Cancelled, c.Refused)
}

// rivals are what a cancellation races with. Each makes room for the waiter, or turns it away, and cleans up after
// itself when told that the race is over.
var rivals = []struct {
	name string
	rush func(g *gate.Gate, holder gate.Lease) (after func())
}{
	{"release", func(_ *gate.Gate, holder gate.Lease) func() {
		holder.Release()
		return func() {}
	}},
	{"release twice", func(_ *gate.Gate, holder gate.Lease) func() {
		holder.Release()
		holder.Release()
		return func() {}
	}},
	{"a higher limit", func(g *gate.Gate, holder gate.Lease) func() {
		_ = g.SetLimit(2)
		return func() {
			_ = g.SetLimit(1)
			holder.Release()
		}
	}},
	{"displacement", func(g *gate.Gate, holder gate.Lease) func() {
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Microsecond)
		defer cancel()
		lease, err := g.Acquire(ctx, gate.Call{Priority: gate.Critical})
		return func() {
			if err == nil {
				lease.Release()
			}
			holder.Release()
		}
	}},
	{"release during a drain", func(g *gate.Gate, holder gate.Lease) func() {
		drained := make(chan error, 1)
		go func() { drained <- g.Drain(context.Background()) }()
		holder.Release()
		return func() {
			<-drained // hangs if nobody tells that the last lease is back
			_ = g.Reopen()
		}
	}},
	{"nobody but the end of the wait", func(_ *gate.Gate, holder gate.Lease) func() {
		return holder.Release
	}},
}

// racer has one waiter, and a goroutine for its rival.
type racer struct {
	gate   *gate.Gate
	random *rand.Rand
	counts RaceCounts

	calls   chan context.Context
	results chan error
	starts  chan gate.Lease
	afters  chan func()
	rival   atomic.Int64
	head    int // how much of a start the rivals get
}

// Races lets that many cancellations of a waiting call race with whatever else may become of it: a release that grants
// it its slot, a raised limit, a displacement, the end of its wait. After each race nothing may be in flight or waiting.
func Races(n int, seed uint64, progress func(RaceCounts)) (RaceCounts, error) {
	g, err := gate.New("races", 1, gate.WithMaxWaiting(1), gate.WithMaxWait(time.Minute), gate.WithDeadlineShare(1))
	if err != nil {
		return RaceCounts{}, err
	}
	r := &racer{
		gate: g, random: rand.New(rand.NewPCG(seed, 1)),
		calls: make(chan context.Context), results: make(chan error, 1),
		starts: make(chan gate.Lease), afters: make(chan func()),
	}
	defer close(r.calls)
	defer close(r.starts)
	go r.wait()
	go r.rush()
	for r.counts.Races < n {
		if err := r.race(); err != nil {
			return r.counts, fmt.Errorf("seed %d, race %d with %s: %w", seed, r.counts.Races, rivals[r.rival.Load()].name, err)
		}
		if progress != nil && r.counts.Races%1000 == 0 {
			progress(r.counts)
		}
	}
	return r.counts, nil
}

// wait is the goroutine of the waiter. A lease that it gets is given back at once.
func (r *racer) wait() {
	for ctx := range r.calls {
		lease, err := r.gate.Acquire(ctx, gate.Call{})
		lease.Release()
		r.results <- err
	}
}

func (r *racer) rush() {
	for holder := range r.starts {
		r.afters <- rivals[r.rival.Load()].rush(r.gate, holder)
	}
}

func (r *racer) race() error {
	r.counts.Races++
	rival := r.random.IntN(len(rivals) + 4) // most often it is a plain release
	if rival >= len(rivals) {
		rival = 0
	}
	r.rival.Store(int64(rival))

	holder, err := r.gate.TryAcquire(gate.Call{})
	if err != nil {
		return fmt.Errorf("the gate should be free: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if rivals[rival].name == "nobody but the end of the wait" {
		// Too far away to be refused at once, so near that it races with the cancellation.
		ctx, cancel = context.WithTimeout(ctx, time.Millisecond+time.Duration(r.random.Int64N(int64(200*time.Microsecond))))
		defer cancel()
	}
	r.calls <- ctx
	for r.gate.Waiting() == 0 && len(r.results) == 0 && ctx.Err() == nil {
		runtime.Gosched()
	}
	early := len(r.results) > 0
	r.starts <- holder
	r.spin(r.random.IntN(2*r.head + 1))
	cancel()
	err = <-r.results
	after := <-r.afters
	after()
	if early && err == nil {
		return errors.New("a call was admitted beside the holder")
	}
	if rival == 0 { // a race is one only if both may win
		if err == nil {
			r.head = max(r.head*31/32, 4)
		} else {
			r.head = min(r.head*33/32+1, 100_000)
		}
	}
	return r.judge(err)
}

func (r *racer) spin(n int) {
	for ; n > 0; n-- {
		if r.rival.Load(); n%64 == 0 {
			runtime.Gosched()
		}
	}
}

func (r *racer) judge(err error) error {
	var rejection *gate.Rejection
	switch {
	case err == nil:
		r.counts.Admitted++
	case errors.As(err, &rejection):
		r.counts.Refused++
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		r.counts.Cancelled++
	default:
		return err
	}
	if s := r.gate.Overview(); s.InFlight != 0 || s.Waiting != 0 {
		return fmt.Errorf("%d in flight and %d waiting, want none", s.InFlight, s.Waiting)
	}
	return nil
}
