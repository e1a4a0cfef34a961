package gate

import (
	"errors"
	"fmt"
	"time"
)

// settings are what options set. A gate has them in one value, which is never
// changed, only replaced.
type settings struct {
	maxWait       time.Duration
	maxWaiting    int // -1: as many as fit into the limit, see maxWaitingLocked
	deadlineShare float64
	minDelay      time.Duration
	maxDelay      time.Duration
	delayCeiling  time.Duration // 0: the range does not grow
	minDrainDelay time.Duration
	maxDrainDelay time.Duration
	refusal       Refusal
	observers     []registered
	dryRun        bool
	reserve       [levels]int64
	keyLimit      int64
	keyLimitFunc  func(key string) int64
	keyShare      float64
	keylessExempt bool
	keyHasher     *keyHasher // nil: that of the process
	maxHold       time.Duration
	cost          func(Call) int64
}

// set returns the settings of this moment.
func (g *Gate) set() *settings {
	if s := g.settings.Load(); s != nil {
		return s
	}
	return &settings{} // of the zero Gate
}

// newSettings applies options to the defaults, for a gate with the given limit. The
// error tells of all that is wrong.
func newSettings(maxInFlight int64, opts []Option) (*settings, error) {
	s := &settings{
		maxWait:       DefaultMaxWait,
		maxWaiting:    -1,
		deadlineShare: DefaultDeadlineShare,
		minDelay:      DefaultMinRetryDelay,
		maxDelay:      DefaultMaxRetryDelay,
		maxDrainDelay: DefaultMaxDrainDelay,
	}
	errs := []error{checkLimit("maxInFlight", maxInFlight)}
	for i, o := range opts {
		if o == nil {
			errs = append(errs, fmt.Errorf("option %d is nil", i))
			continue
		}
		errs = append(errs, o.apply(s))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return s, s.check(maxInFlight)
}

// check reports what is wrong with good values taken together.
func (s *settings) check(maxInFlight int64) error {
	var errs []error
	reserved := int64(0)
	for _, units := range s.reserve {
		reserved += units // at most 2 * MaxLimit, which does not overflow
	}
	if reserved >= maxInFlight {
		errs = append(errs, fmt.Errorf("WithReserve: want less than the limit %d in all, got %d", maxInFlight, reserved))
	}
	if s.delayCeiling > 0 && s.delayCeiling < s.maxDelay {
		errs = append(errs, fmt.Errorf("WithRetryDelayGrowth: want a ceiling of at least WithRetryDelay's maximum %s, got %s",
			s.maxDelay, s.delayCeiling))
	}
	errs = append(errs, s.checkKeys())
	return errors.Join(errs...)
}

// costOf is how many units a call wants.
func (s *settings) costOf(call *Call) int64 {
	if s.cost != nil {
		return max(s.cost(call.sized()), 1)
	}
	return max(call.Cost, 1)
}
