package model

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

// config is a gate's configuration, drawn at random.
type config struct {
	limit      int64
	maxWait    time.Duration
	maxWaiting int // -1: the default
	share      float64
	reserve    map[gate.Priority]int64
	keyLimit   int64
	keyShare   float64
	keyless    bool // calls without a key are exempt from limits by key
	maxHold    time.Duration
	growth     bool
	dryRun     bool
	observed   bool
	panics     bool // of the observer, now and then
	costBySize bool
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func drawConfig(r *rand.Rand) config {
	c := config{
		limit:      pick[int64](r, 1, 1, 2, 3, 4, 6, 10),
		maxWait:    pick(r, 0, 5*time.Millisecond, gate.DefaultMaxWait, gate.DefaultMaxWait, time.Minute),
		maxWaiting: pick(r, -1, -1, -1, 0, 1, 2, 4, 9),
		share:      pick(r, gate.DefaultDeadlineShare, gate.DefaultDeadlineShare, 0.1, 0.9, 1),
		reserve:    map[gate.Priority]int64{},
		dryRun:     r.IntN(4) == 0,
		observed:   r.IntN(2) == 0,
		panics:     r.IntN(4) == 0,
		growth:     r.IntN(4) == 0,
		costBySize: r.IntN(8) == 0,
	}
	if r.IntN(2) == 0 && c.limit > 2 {
		c.reserve[gate.Critical] = 1
		c.reserve[gate.Normal] = r.Int64N(c.limit - 1)
	}
	if r.IntN(2) == 0 {
		c.keyLimit = pick[int64](r, 0, 1, 2, 3)
		c.keyShare = pick(r, 0, 0.3, 0.5, 1)
		c.keyless = (c.keyLimit > 0 || c.keyShare > 0) && r.IntN(2) == 0
	}
	if r.IntN(3) == 0 {
		c.maxHold = pick(r, time.Millisecond, 50*time.Millisecond, time.Hour)
	}
	return c
}

func (c config) String() string {
	type plain config
	return fmt.Sprintf("%+v", plain(c))
}

// options are those that make a gate so.
func (c config) options(onEvent func(context.Context, gate.Event)) []gate.Option {
	options := []gate.Option{
		gate.WithMaxWait(c.maxWait), gate.WithDeadlineShare(c.share),
		gate.WithReserve(gate.Normal, c.reserve[gate.Normal]), gate.WithReserve(gate.Critical, c.reserve[gate.Critical]),
		gate.WithRetryDelay(minDelay, maxDelay),
	}
	if c.maxWaiting >= 0 {
		options = append(options, gate.WithMaxWaiting(c.maxWaiting))
	}
	if c.keyLimit > 0 {
		options = append(options, gate.WithKeyLimit(c.keyLimit))
	}
	if c.keyShare > 0 {
		options = append(options, gate.WithKeyShare(c.keyShare))
	}
	if c.keyless {
		options = append(options, gate.WithKeylessExempt())
	}
	if c.maxHold > 0 {
		options = append(options, gate.WithMaxHold(c.maxHold))
	}
	if c.growth {
		options = append(options, gate.WithRetryDelayGrowth(delayCeiling))
	}
	if c.dryRun {
		options = append(options, gate.WithDryRun())
	}
	if c.observed {
		options = append(options, gate.WithOnEvent(onEvent))
	}
	if c.costBySize {
		options = append(options, gate.WithCost(func(c gate.Call) int64 { return c.Size }))
	}
	return options
}

// The range of the retry delay, and where it may grow to.
const (
	minDelay     = 10 * time.Millisecond
	maxDelay     = 30 * time.Millisecond
	delayCeiling = time.Second
)

// mayDelay reports whether a rejection may say so long a delay.
func (c config) mayDelay(reason gate.Reason, d time.Duration) bool {
	if reason == gate.ReasonDraining {
		return d >= 0 && d <= gate.DefaultMaxDrainDelay
	}
	if c.growth {
		return d >= minDelay && d <= delayCeiling
	}
	return d >= minDelay && d <= maxDelay
}
