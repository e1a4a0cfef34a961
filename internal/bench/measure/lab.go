// Package measure times small things so that they can be compared: in rounds, in pairs, and only while the cores were
// really there.
package measure

import (
	"cmp"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Case is one thing to time.
type Case struct {
	Name string
	// Workers is the number of goroutines that run it at once; 0 means 1. More than one need two free cores.
	Workers int
	// Run does the operation n times.
	Run func(n int)
}

// Timing is what came out for a case.
type Timing struct {
	Name string
	// NS is the time an operation takes: of the whole, if several goroutines share the work.
	NS Series
	// Bytes and Allocs are those of one operation.
	Bytes, Allocs float64
}

// Plan says how much to measure.
type Plan struct {
	Rounds int
	Sample time.Duration // about what one sample takes
	// TwoCores is how much of two cores must be there for samples with several workers; 0 means the constant TwoCores.
	TwoCores float64
}

// How much of the cores must be there for a sample to count. Whole calls are not as easily put off as a loop of
// nanoseconds.
const (
	OneCore      = 0.85
	TwoCores     = 1.7
	TwoCoresCall = 1.5

	tries    = 5               // at a sample
	patience = 5 * time.Minute // with samples that have to be taken again, in all
)

// Lab takes the samples. It is not safe for concurrent use: nothing else should run meanwhile.
type Lab struct {
	cores    *Cores
	quick    bool
	patience time.Duration // what is left of it
	ballast  []byte
}

// NewLab makes a Lab. A quick one takes few samples and keeps them all: they show that it works, and nothing else.
func NewLab(quick bool) *Lab {
	return &Lab{cores: NewCores(), quick: quick, patience: patience, ballast: Ballast()}
}

// Ballast is live heap that is never touched. With it the garbage collector runs as seldom as in a server that has
// something in memory, and does not give memory back to the system that is needed again a moment later: to get a page
// from the system of a virtual machine takes longer than most of what is measured here.
func Ballast() []byte { return make([]byte, 64<<20) }

// Quick reports whether the Lab is a quick one.
func (l *Lab) Quick() bool { return l.quick }

// Plan is the given plan, or a fraction of it if the Lab is a quick one.
func (l *Lab) Plan(rounds int, sample time.Duration) Plan {
	if l.quick {
		return Plan{Rounds: 2, Sample: sample / 4}
	}
	return Plan{Rounds: rounds, Sample: sample}
}

// Time measures all the cases in interleaved rounds.
func (l *Lab) Time(plan Plan, cases []Case) []Timing {
	timings := make([]Timing, len(cases))
	samples := make([]func() float64, len(cases))
	for i, c := range cases {
		n := calibrate(c, plan.Sample)
		timings[i] = Timing{Name: c.Name}
		timings[i].Bytes, timings[i].Allocs = allocations(c, n)
		cores, least := 1, OneCore
		if c.Workers > 1 {
			cores, least = 2, cmp.Or(plan.TwoCores, TwoCores)
		}
		samples[i] = func() float64 {
			return l.Checked(cores, least, func() float64 {
				runtime.GC()
				return float64(run(c, n)) / float64(n)
			})
		}
	}
	for i, s := range Interleave(plan.Rounds, samples) {
		timings[i].NS = s
	}
	return timings
}

// Checked takes a sample that needs so many cores, at most 2, of which at least the given sum must be there. If they
// were not there just before and just after, it is taken again, and in the end dropped.
func (l *Lab) Checked(cores int, least float64, sample func() float64) float64 {
	if l.quick {
		return sample()
	}
	for try := 0; try == 0 || try < tries && l.patience > 0; try++ {
		begin := time.Now()
		if l.cores.Free(cores) >= least {
			x := sample()
			if l.cores.Free(cores) >= least {
				return x
			}
		}
		l.patience -= time.Since(begin)
	}
	return math.NaN()
}

// calibrate finds how many operations take about as long as a sample should.
func calibrate(c Case, want time.Duration) int {
	const most = 1 << 30 // of an operation that does nothing
	n := max(1, c.Workers)
	for ; n < most; n *= 2 {
		if took := run(c, n); took >= want/2 {
			return max(1, c.Workers, int(float64(n)*float64(want)/float64(took)))
		}
	}
	return n
}

// run does n operations and says how long that took from the first start to the last end.
func run(c Case, n int) time.Duration {
	if c.Workers <= 1 {
		begin := time.Now()
		c.Run(n)
		return time.Since(begin)
	}
	// The workers fetch their work in portions, so that none is left to run alone at the end.
	portion := int64(max(1, n/(c.Workers*50)))
	var left atomic.Int64
	left.Store(int64(n))
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	ready.Add(c.Workers)
	for range c.Workers {
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
func allocations(c Case, n int) (bytes, allocs float64) {
	bytes, allocs = math.Inf(1), math.Inf(1)
	n = min(max(n, 2000), 100_000) // so that the goroutines do not count
	for range 3 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		run(c, n)
		runtime.ReadMemStats(&after)
		bytes = min(bytes, float64(after.TotalAlloc-before.TotalAlloc)/float64(n))
		allocs = min(allocs, float64(after.Mallocs-before.Mallocs)/float64(n))
	}
	return bytes, allocs
}
