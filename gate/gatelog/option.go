package gatelog

import (
	"fmt"
	"log/slog"
	"time"
)

// Defaults of the options.
const (
	DefaultInterval   = time.Minute
	DefaultSampleRate = 0.01
	DefaultBurstLines = 100
	DefaultBurstTime  = 5 * time.Second
	DefaultMaxDetails = 300
	DefaultMaxRoutes  = 100
)

// Option configures a [Logger]; see the functions that begin with With. A bad
// value is a mistake of the program: the function that is given it panics.
type Option interface {
	apply(*config)
}

type optionFunc func(*config)

func (f optionFunc) apply(c *config) { f(c) }

type config struct {
	interval   time.Duration
	sampleStep uint64 // of sampleOne
	burstLines int
	burstTime  time.Duration
	maxDetails int
	maxRoutes  int
	calm       slog.Level
	overload   slog.Level
}

// sampleOne is what the steps of a route's calls add up to when the next one is
// sampled. Whole numbers, so that a rate of 0.1 is every tenth call exactly.
const sampleOne = 1 << 32

func newConfig(opts []Option) config {
	c := config{
		interval:   DefaultInterval,
		burstLines: DefaultBurstLines,
		burstTime:  DefaultBurstTime,
		maxDetails: DefaultMaxDetails,
		maxRoutes:  DefaultMaxRoutes,
		calm:       slog.LevelInfo,
		overload:   slog.LevelWarn,
	}
	WithSampleRate(DefaultSampleRate).apply(&c)
	for i, o := range opts {
		if o == nil {
			misuse("New: option %d is nil", i)
		}
		o.apply(&c)
	}
	return c
}

// misuse reports a mistake of the program that uses the package.
func misuse(format string, args ...any) {
	panic("gatelog: " + fmt.Sprintf(format, args...))
}

// WithInterval sets how long one summary line covers, from the first call of the
// interval on. The default is a minute. It panics unless d is at least a
// millisecond.
func WithInterval(d time.Duration) Option {
	if d < time.Millisecond {
		misuse("WithInterval: want 1ms or more, got %s", d)
	}
	return optionFunc(func(c *config) { c.interval = d })
}

// WithSampleRate sets the share of decisions that are written in detail. The
// default is 0.01: of every gate and route each 100th. 0 turns samples off, 1
// writes every decision, up to [WithMaxDetails]. It panics unless the rate is
// between 0 and 1.
func WithSampleRate(rate float64) Option {
	if !(rate >= 0 && rate <= 1) { // also refuses NaN
		misuse("WithSampleRate: want 0 to 1, got %v", rate)
	}
	step := uint64(rate * sampleOne)
	if float64(step) < rate*sampleOne {
		step++ // rounded up: 0.1 is then the tenth call and not the eleventh
	}
	return optionFunc(func(c *config) { c.sampleStep = step })
}

// WithBurst sets for how many decisions, and for how long at most, all decisions
// of a gate are written in detail after its first rejection. The default is 100
// decisions and 5 seconds. The next burst needs an interval without a rejection
// before it. 0 lines turn bursts off. It panics if lines is negative or d is not
// above 0.
func WithBurst(lines int, d time.Duration) Option {
	if lines < 0 || d <= 0 {
		misuse("WithBurst: want 0 or more lines and a time above 0, got %d and %s", lines, d)
	}
	return optionFunc(func(c *config) { c.burstLines, c.burstTime = lines, d })
}

// WithMaxDetails bounds the lines of detail that a gate causes in an interval,
// those of bursts apart: samples and leases held too long. The default is 300.
// What was left out is counted in the summary as details_dropped. It panics if n
// is negative; 0 leaves only summaries and bursts.
func WithMaxDetails(n int) Option {
	if n < 0 {
		misuse("WithMaxDetails: want 0 or more, got %d", n)
	}
	return optionFunc(func(c *config) { c.maxDetails = n })
}

// WithMaxRoutes sets how many routes of a gate get a summary of their own. The
// default is 100. All others, and those that no server registered, share the
// route "_OTHER". When all places are taken, routes without a call in the last
// interval give up theirs. It panics if n is not above 0.
func WithMaxRoutes(n int) Option {
	if n <= 0 {
		misuse("WithMaxRoutes: want a number above 0, got %d", n)
	}
	return optionFunc(func(c *config) { c.maxRoutes = n })
}

// WithLevels sets the levels of calm lines and of those that tell of overload:
// of an enforced rejection or of a lease held too long. The defaults are Info
// and Warn.
func WithLevels(calm, overload slog.Level) Option {
	return optionFunc(func(c *config) { c.calm, c.overload = calm, overload })
}
