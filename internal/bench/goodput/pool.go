package goodput

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

const (
	poolSize = 20
	service  = 7500 * time.Microsecond // mean
	deadline = 500 * time.Millisecond
)

// pool is a pool of connections, all of which can be busy while the CPU is not. Waiting callers are served in turn.
type pool struct {
	connections chan struct{}
	times       []time.Duration
	next        atomic.Uint64
}

// newPool makes a pool whose service times are exponential. They are the quantiles in a random order, so that any long
// run of them has the same mean, and capacity does not depend on luck.
func newPool(seed uint64) *pool {
	p := &pool{connections: make(chan struct{}, poolSize), times: make([]time.Duration, 1<<10)}
	rng := rand.New(rand.NewPCG(seed, 1))
	for i, at := range rng.Perm(len(p.times)) {
		q := (float64(i) + 0.5) / float64(len(p.times))
		p.times[at] = time.Duration(-math.Log(1-q) * float64(service))
	}
	return p
}

// query waits for a connection and uses it. What has begun is finished, also when nobody is left to see it.
func (p *pool) query(ctx context.Context) error {
	select {
	case p.connections <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	time.Sleep(p.times[p.next.Add(1)%uint64(len(p.times))])
	<-p.connections
	return nil
}

// closedLoop is how many queries the pool answers in a second when there always is a next one.
func closedLoop(seed uint64, length time.Duration) float64 {
	p := newPool(seed)
	var done atomic.Int64
	var callers sync.WaitGroup
	begin := time.Now()
	for range poolSize {
		callers.Go(func() {
			for time.Since(begin) < length {
				_ = p.query(context.Background()) // does not end
				done.Add(1)
			}
		})
	}
	callers.Wait()
	return float64(done.Load()) / time.Since(begin).Seconds()
}
