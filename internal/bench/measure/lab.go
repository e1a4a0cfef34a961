// Package measure times small things so that they can be compared: in rounds, in pairs, and so that what else the machine
// does shows as little as possible.
package measure

import (
	"cmp"
	"math"
	"runtime"
	"time"
)

// Timing is what came out for a case.
type Timing struct {
	Name string
	// NS is the time an operation takes: of the whole, if several goroutines share the work.
	NS Series
	// Bytes and Allocs are those of one operation.
	Bytes, Allocs float64
}

// Plan says how much to measure, and in which kind of time.
type Plan struct {
	Rounds int
	Sample time.Duration // about what one sample takes
	// Workers is the number of goroutines that share the work. They are timed by the clock on the wall, while two cores
	// are there. If it is 0, the goroutine that calls Run does all the work by itself, and its CPU time counts.
	Workers int
	// TwoCores is how much of two cores must be there for a sample of wall time; 0 means the constant TwoCores.
	TwoCores float64
}

// How much of two cores must be there for a sample of wall time to count. Whole calls are not as easily put off as a
// loop of nanoseconds.
const (
	TwoCores     = 1.7
	TwoCoresCall = 1.5
)

const (
	// A sample of CPU time is the quickest of so many portions, which are spread over the whole measurement. CPU time
	// stands still while others have the core, but runs faster than the work while another thread has the other half of
	// it, or an interrupt comes in between. All that only ever adds to the time, so the quickest portion has least of it.
	portions = 25
	warmUp   = 8 // part of a portion that is run before it, so that it finds its data in the caches

	tries    = 5               // at a sample of wall time
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

// Plan is the given plan, or a fraction of it if the Lab is a quick one. It is for CPU time, as long as nobody sets its
// Workers.
func (l *Lab) Plan(rounds int, sample time.Duration) Plan {
	if l.quick {
		return Plan{Rounds: 2, Sample: sample / 4}
	}
	return Plan{Rounds: rounds, Sample: sample}
}

// Time measures all the cases in interleaved rounds.
func (l *Lab) Time(plan Plan, cases []Case) []Timing {
	if plan.Workers == 0 {
		return l.cpuTime(plan, cases)
	}
	return l.wallTime(plan, cases)
}

func (l *Lab) cpuTime(plan Plan, cases []Case) []Timing {
	timings, counts := prepare(cases, 0, plan.Sample/portions)
	samples := make([]func() float64, len(cases))
	for i, c := range cases {
		samples[i] = func() float64 {
			c.Run(counts[i] / warmUp)
			return perOperation(c, 0, counts[i])
		}
	}
	for i, s := range Interleave(plan.Rounds*portions, samples) {
		timings[i].NS = s.leastOf(portions)
	}
	return timings
}

func (l *Lab) wallTime(plan Plan, cases []Case) []Timing {
	timings, counts := prepare(cases, plan.Workers, plan.Sample)
	samples := make([]func() float64, len(cases))
	for i, c := range cases {
		samples[i] = func() float64 {
			return l.Checked(cmp.Or(plan.TwoCores, TwoCores), func() float64 {
				runtime.GC()
				return perOperation(c, plan.Workers, counts[i])
			})
		}
	}
	for i, s := range Interleave(plan.Rounds, samples) {
		timings[i].NS = s
	}
	return timings
}

// prepare finds how many operations of each case to run at a time, and counts their allocations.
func prepare(cases []Case, workers int, length time.Duration) (timings []Timing, counts []int) {
	timings, counts = make([]Timing, len(cases)), make([]int, len(cases))
	for i, c := range cases {
		timings[i].Name = c.Name
		counts[i] = calibrate(c, workers, length)
		timings[i].Bytes, timings[i].Allocs = allocations(c, workers, counts[i])
	}
	return timings, counts
}

// Checked takes a sample of wall time that needs two cores, of which at least the given sum must be there. If they were
// not there just before and just after, it is taken again, and in the end dropped.
func (l *Lab) Checked(least float64, sample func() float64) float64 {
	if l.quick {
		return sample()
	}
	for try := 0; try == 0 || try < tries && l.patience > 0; try++ {
		begin := time.Now()
		if l.cores.Free(2) >= least {
			x := sample()
			if l.cores.Free(2) >= least {
				return x
			}
		}
		l.patience -= time.Since(begin)
	}
	return math.NaN()
}
