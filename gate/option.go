package gate

import (
	"context"
	"fmt"
	"time"
)

// Defaults of the options.
const (
	DefaultMaxWait       = 100 * time.Millisecond
	DefaultDeadlineShare = 0.5
	DefaultMinRetryDelay = 1 * time.Second
	DefaultMaxRetryDelay = 3 * time.Second

	DefaultMaxDrainDelay = 100 * time.Millisecond

	// DefaultUnknownSize is the size, in bytes, of a call whose size is not known;
	// see [Call.SizeIfUnknown].
	DefaultUnknownSize = 64 << 10

	// DefaultLeastWaiting is how many calls may wait even if fewer fit into the
	// limit; see [WithMaxWaiting].
	DefaultLeastWaiting = 16
)

// The largest values that a gate can be given.
const (
	MaxLimit = 1 << 60
	// MaxRetryDelay is far below what the milliseconds of gRPC's pushback,
	// an int32, can carry.
	MaxRetryDelay = 24 * time.Hour
)

// shortestMaxWait tells a wait from a number whose unit was forgotten.
const shortestMaxWait = 10 * time.Microsecond

// Option configures a gate; see the functions that begin with With.
type Option interface {
	apply(*settings) error
}

type optionFunc func(*settings) error

func (f optionFunc) apply(s *settings) error { return f(s) }

// WithMaxWait sets how long a call may wait. The default is 100 ms;
// 50 to 150 ms smooth bursts. 0 turns waiting off: the limit is then hard. It
// is an error if it is negative, or above 0 and below 10 us, which is a number
// without its unit.
//
// The caller's deadline can make the wait shorter: see [WithDeadlineShare]. The rule of
// a route can say something else for its calls: see [Rule.MaxWait].
func WithMaxWait(d time.Duration) Option {
	return optionFunc(func(s *settings) error {
		s.maxWait = d
		return checkMaxWait("WithMaxWait", d)
	})
}

// WithMaxWaiting sets how many calls may wait at once. The default is as many as fit
// into the limit at the mean cost of the calls in flight, and at least
// [DefaultLeastWaiting]; it follows the limit when that changes. 0 turns waiting off.
// It is an error if it is negative.
//
// A longer queue does not raise goodput: all calls in it just wait longer. A shorter
// one at a small limit rejects calls although the gate is half empty most of the
// time.
func WithMaxWaiting(n int) Option {
	return optionFunc(func(s *settings) error {
		if n < 0 {
			return fmt.Errorf("WithMaxWaiting: want 0 or more, got %d", n)
		}
		s.maxWaiting = n
		return nil
	})
}

// WithDeadlineShare sets the share of the caller's remaining deadline that may
// be spent on waiting, above 0 and at most 1. The default is 0.5: the other half
// is left for the work. A call whose share is under a millisecond, and under
// the gate's own wait, is rejected at once with [ReasonDeadline].
func WithDeadlineShare(share float64) Option {
	return optionFunc(func(s *settings) error {
		if !(share > 0 && share <= 1) { // NaN is neither
			return fmt.Errorf("WithDeadlineShare: want a share above 0 and at most 1, got %v", share)
		}
		s.deadlineShare = share
		return nil
	})
}

// WithRetryDelay sets the range from which the delay of each rejection is drawn
// evenly, so that refused clients do not come back together. The default is 1 s
// to 3 s. It is an error if minimum is negative, or above maximum, or if maximum
// is above [MaxRetryDelay].
//
// HTTP's Retry-After has whole seconds. The delay is rounded up or down at random there,
// so that the mean stays the same, and is at least 1: clients of HTTP come back in one
// group for each second of the range. For a gate that refuses many of them at once, set
// a range of ten seconds or more, such as 1 s to 15 s. A range below a second tells all
// of them to come back after 1 s.
func WithRetryDelay(minimum, maximum time.Duration) Option {
	return optionFunc(func(s *settings) error {
		s.minDelay, s.maxDelay = minimum, maximum
		return checkRange("WithRetryDelay", minimum, maximum)
	})
}

// WithRetryDelayGrowth lets the range of the retry delay grow with pressure:
// while no call is rejected it is as [WithRetryDelay] says; the more of the
// recent calls were rejected, the longer, up to a range that ends at ceiling
// when all of them are. Recent is the last full second. By default the range
// does not grow. It is an error if ceiling is below the range's own maximum.
func WithRetryDelayGrowth(ceiling time.Duration) Option {
	return optionFunc(func(s *settings) error {
		if ceiling <= 0 || ceiling > MaxRetryDelay {
			return fmt.Errorf("WithRetryDelayGrowth: want a ceiling above 0 and at most %s, got %s", MaxRetryDelay, ceiling)
		}
		s.delayCeiling = ceiling
		return nil
	})
}

// WithDrainDelay sets the range from which the retry delay is drawn while the gate
// drains, instead of [WithRetryDelay]'s. Clients are to go elsewhere then, and not
// to wait; a delay of 0 would let a client without another server use up its
// attempts at once. Only every other attempt of a gRPC call, beginning with the first,
// is always told the minimum: a client that balances the load in turns has its next
// attempt on another server. The default is 0 to 100 ms. It is an error
// if minimum is negative, or above maximum, or if maximum is above [MaxRetryDelay].
func WithDrainDelay(minimum, maximum time.Duration) Option {
	return optionFunc(func(s *settings) error {
		s.minDrainDelay, s.maxDrainDelay = minimum, maximum
		return checkRange("WithDrainDelay", minimum, maximum)
	})
}

func checkRange(option string, minimum, maximum time.Duration) error {
	if minimum < 0 || minimum > maximum {
		return fmt.Errorf("%s: want 0 <= min <= max, got min %s and max %s", option, minimum, maximum)
	}
	if maximum > MaxRetryDelay {
		return fmt.Errorf("%s: want a max of at most %s, got %s", option, MaxRetryDelay, maximum)
	}
	return nil
}

// WithRefusal sets which form a rejection has for clients: [TooManyRequests], the
// default, [ServiceUnavailable] or [Unimplemented]. A draining gate always says
// ServiceUnavailable.
func WithRefusal(r Refusal) Option {
	return optionFunc(func(s *settings) error {
		s.refusal = r
		return checkRefusal("WithRefusal", r)
	})
}

// WithOnEvent adds a function that receives an event for every decision and every
// release; see [Observer] for what it must and must not do. It may be given several
// times. Without any, the gate does not read the clock for a call that is
// admitted at once.
func WithOnEvent(f func(context.Context, Event)) Option {
	return optionFunc(func(s *settings) error {
		if f == nil {
			return fmt.Errorf("WithOnEvent: want a function, got nil")
		}
		s.observers = append(s.observers, registered{onEvent(f), ObserveAll | ObserveFixed})
		return nil
	})
}

// WithDryRun makes the gate decide and report as it would, but let all calls
// pass at once: a limit can be tried out under real load. InFlight is then the
// true number and may be above the limit. Events and snapshots are marked. The
// default is off; see also [Gate.SetDryRun].
func WithDryRun() Option {
	return optionFunc(func(s *settings) error {
		s.dryRun = true
		return nil
	})
}

// WithReserve keeps units of the limit free for calls of priority p and above:
// calls below p are admitted only as long as that many units stay free. By
// default nothing is reserved. It may be given for Normal and for Critical; the
// reserves add up and must leave at least one unit of the limit to all. When
// the limit is lowered later the reserves give way to that unit.
func WithReserve(p Priority, units int64) Option {
	return optionFunc(func(s *settings) error {
		if p != Normal && p != Critical {
			return fmt.Errorf("WithReserve: want Normal or Critical, got Priority(%d)", p)
		}
		if units < 0 || units > MaxLimit {
			return fmt.Errorf("WithReserve: want 0 to %d units, got %d", int64(MaxLimit), units)
		}
		s.reserve[p.level()] = units
		return nil
	})
}

// WithMaxHold reports each lease that is held for longer than d, once, by an
// event of kind [EventMaxHold]. It takes nothing away from the holder. By
// default no lease is reported. It is an error if d is not above 0.
func WithMaxHold(d time.Duration) Option {
	return optionFunc(func(s *settings) error {
		if d <= 0 {
			return fmt.Errorf("WithMaxHold: want a time above 0, got %s", d)
		}
		s.maxHold = d
		return nil
	})
}

// WithCost sets the function that says how many units of this gate a call
// takes, instead of [Call.Cost]. It makes a gate a budget of bytes:
//
//	gate.New("request-bytes", 64<<20, gate.WithMaxWaiting(100),
//		gate.WithCost(func(c gate.Call) int64 { return c.Size }))
//
// The function sees no unknown size: a call whose [Call.Size] is not known has its
// [Call.SizeIfUnknown] there, 64 KiB by default. The options of the hosts set that:
//
//	httpgate.NewMiddleware(bytes, interceptor.WithUnknownSize(1<<20))
//
// The function runs on every call, outside of the lock, and must be safe for
// concurrent use. What it returns is treated as Call.Cost is: zero or less
// counts as 1, more than the limit runs alone.
func WithCost(f func(Call) int64) Option {
	return optionFunc(func(s *settings) error {
		if f == nil {
			return fmt.Errorf("WithCost: want a function, got nil")
		}
		s.cost = f
		return nil
	})
}
