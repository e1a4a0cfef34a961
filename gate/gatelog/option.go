package gatelog

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/rpcgate/rpcgate/gate/internal/clean"
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
// value is a programmer's mistake: [New] panics and names all of them.
type Option interface {
	apply(*config) error
}

type optionFunc func(*config) error

func (f optionFunc) apply(c *config) error { return f(c) }

type config struct {
	Detail
	interval  time.Duration
	maxRoutes int
	calm      slog.Level
	overload  slog.Level
	rawKeys   bool
	addresses clean.Addresses
}

// sampleOne is the sum at which a route's next call is sampled: each call adds a
// step. The sum is a whole number so that a rate of 0.1 is exactly every tenth
// call.
const sampleOne = 1 << 32

// newConfig applies options to the defaults. The error names everything that is
// wrong.
func newConfig(opts []Option) (config, error) {
	c := config{
		Detail: Detail{
			SampleRate: DefaultSampleRate,
			BurstLines: DefaultBurstLines,
			BurstTime:  DefaultBurstTime,
			MaxDetails: DefaultMaxDetails,
		},
		interval:  DefaultInterval,
		maxRoutes: DefaultMaxRoutes,
		calm:      slog.LevelInfo,
		overload:  slog.LevelWarn,
	}
	var errs []error
	for i, o := range opts {
		if o == nil {
			errs = append(errs, fmt.Errorf("New: want an option, got nil as option %d of %d", i+1, len(opts)))
			continue
		}
		errs = append(errs, o.apply(&c))
	}
	return c, errors.Join(errs...)
}

// WithInterval sets the time that one summary covers, counted from the first call
// in it. The default is a minute. d must be at least a millisecond.
func WithInterval(d time.Duration) Option {
	return optionFunc(func(c *config) error {
		if d < time.Millisecond {
			return fmt.Errorf("WithInterval: want 1ms or more, got %s", d)
		}
		c.interval = d
		return nil
	})
}

// WithSampleRate sets the share of decisions that are written in detail, from 0
// to 1. The default is 0.01: each 100th call of a gate and route. A rate of 0
// turns samples off. A rate of 1 writes every decision, up to [WithMaxDetails]. See also
// [Logger.SetDetail].
func WithSampleRate(rate float64) Option {
	return optionFunc(func(c *config) error {
		if !(rate >= 0 && rate <= 1) { // also true for NaN
			return fmt.Errorf("WithSampleRate: want 0 to 1, got %v", rate)
		}
		c.SampleRate = rate
		return nil
	})
}

// sampleStep is what a call adds to the sum of its route. It is rounded up: at a
// rate of 0.1 the tenth call is sampled, not the eleventh.
func sampleStep(rate float64) uint64 {
	step := uint64(rate * sampleOne)
	if float64(step) < rate*sampleOne {
		step++
	}
	return step
}

// WithBurst makes the first rejection at a gate begin a burst, in which every
// decision of the gate is written in detail. A burst ends after the given number
// of lines or after d, whichever comes first. The default is 100 lines and 5
// seconds. The next burst begins with the first rejection after an interval
// without one. 0 lines turn bursts off. lines must not be negative and d must be
// above 0.
func WithBurst(lines int, d time.Duration) Option {
	return optionFunc(func(c *config) error {
		if lines < 0 || d <= 0 {
			return fmt.Errorf("WithBurst: want 0 or more lines and a time above 0, got %d and %s", lines, d)
		}
		c.BurstLines, c.BurstTime = lines, d
		return nil
	})
}

// WithMaxDetails sets how many lines of detail a gate may cause in an interval:
// samples and leases held too long. Lines of a burst do not count. The default is
// 300. The summary counts the lines that were left out as details_dropped. n must
// not be negative; 0 leaves only summaries and bursts.
func WithMaxDetails(n int) Option {
	return optionFunc(func(c *config) error {
		if n < 0 {
			return fmt.Errorf("WithMaxDetails: want 0 or more, got %d", n)
		}
		c.MaxDetails = n
		return nil
	})
}

// WithMaxRoutes sets how many routes of a gate get a summary of their own. The
// default is 100. All other routes, and those that no server registered, share
// the route "_OTHER". At the maximum, a route without a call in the last interval
// makes room for a new one. n must be above 0.
func WithMaxRoutes(n int) Option {
	return optionFunc(func(c *config) error {
		if n <= 0 {
			return fmt.Errorf("WithMaxRoutes: want a number above 0, got %d", n)
		}
		c.maxRoutes = n
		return nil
	})
}

// WithLevels sets two levels: overload for lines about an enforced rejection or a
// lease held too long, calm for all other lines. The defaults are Info for calm
// and Warn for overload.
func WithLevels(calm, overload slog.Level) Option {
	return optionFunc(func(c *config) error {
		c.calm, c.overload = calm, overload
		return nil
	})
}

// WithRawKeys writes the keys of calls as they are. By default they are hashed, since
// a key may be a credential; see [gate.WithKeySecret].
func WithRawKeys() Option {
	return optionFunc(func(c *config) error {
		c.rawKeys = true
		return nil
	})
}

// WithShortAddresses writes only the network of an address: the first 24 bits of IPv4,
// the first 48 of IPv6. By default addresses are written whole.
func WithShortAddresses() Option {
	return optionFunc(func(c *config) error {
		c.addresses = max(c.addresses, clean.Short)
		return nil
	})
}

// WithoutAddresses writes no addresses of callers. By default they are written whole.
func WithoutAddresses() Option {
	return optionFunc(func(c *config) error {
		c.addresses = clean.Hidden
		return nil
	})
}
