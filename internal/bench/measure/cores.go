package measure

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// spinSteps take about half a millisecond.
const spinSteps = 400_000

// Cores finds out how much of the machine is there. A virtual machine may have less than its cores for seconds at a
// time, and no clock inside of it says so; but a spin of known length then takes longer.
type Cores struct {
	best time.Duration // that a spin took on a free core
	sink atomic.Uint64 // keeps the compiler from dropping the spins
}

// NewCores measures a spin until it has seen a fast one.
func NewCores() *Cores {
	c := &Cores{best: time.Hour}
	for range 40 {
		c.Free(1)
	}
	return c
}

// Free is the number of cores that n goroutines got of the machine just now, at most about n.
func (c *Cores) Free(n int) float64 {
	var arrived atomic.Int64
	var done sync.WaitGroup
	base := time.Now()
	from, to := make([]time.Duration, n), make([]time.Duration, n)
	for i := range n {
		done.Go(func() {
			arrived.Add(1)
			for arrived.Load() < int64(n) { // so that all begin at once
			}
			from[i] = time.Since(base)
			c.sink.Add(spin(uint64(i) + 1))
			to[i] = time.Since(base)
		})
	}
	done.Wait()
	for i := range n {
		c.best = min(c.best, to[i]-from[i])
	}
	return float64(n) * float64(c.best) / float64(slices.Max(to)-slices.Min(from))
}

func spin(x uint64) uint64 {
	for range spinSteps {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}
