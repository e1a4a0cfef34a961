package measure

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Case is one thing to time.
type Case struct {
	Name string
	// Run does the operation n times.
	Run func(n int)
}

// calibrate finds how many operations take about as long as wanted.
func calibrate(c Case, workers int, want time.Duration) int {
	const most = 1 << 30 // of an operation that does nothing
	least := max(1, workers)
	for n := least; n < most; n *= 2 {
		// Anything may hold up one run, a first one above all.
		if took := min(run(c, workers, n), run(c, workers, n)); took >= want/2 {
			return max(least, int(float64(n)*float64(want)/float64(took)))
		}
	}
	return most
}

// perOperation runs n operations and says how many nanoseconds one of them took.
func perOperation(c Case, workers, n int) float64 {
	return float64(run(c, workers, n)) / float64(n)
}

// run does n operations and says how long that took: in CPU time without workers, or else from the first start to the
// last end.
func run(c Case, workers, n int) time.Duration {
	if workers == 0 {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		begin := threadTime()
		c.Run(n)
		return threadTime() - begin
	}
	// The workers fetch their work in portions, so that none is left to run alone at the end.
	portion := int64(max(1, n/(workers*50)))
	var left atomic.Int64
	left.Store(int64(n))
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	ready.Add(workers)
	for range workers {
		done.Go(func() {
			ready.Done()
			<-start
			for {
				after := left.Add(-portion)
				if after <= -portion {
					return
				}
				c.Run(int(min(portion, portion+after)))
			}
		})
	}
	ready.Wait()
	begin := time.Now()
	close(start)
	done.Wait()
	return time.Since(begin)
}

// allocations counts those of an operation. The least of a few runs counts, since others of the process may allocate.
func allocations(c Case, workers, n int) (bytes, allocs float64) {
	bytes, allocs = math.Inf(1), math.Inf(1)
	n = min(max(n, 2000), 100_000) // so that the goroutines do not count
	for range 3 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		run(c, workers, n)
		runtime.ReadMemStats(&after)
		bytes = min(bytes, float64(after.TotalAlloc-before.TotalAlloc)/float64(n))
		allocs = min(allocs, float64(after.Mallocs-before.Mallocs)/float64(n))
	}
	return bytes, allocs
}
