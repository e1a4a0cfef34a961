package gate

import (
	"fmt"
	"time"
)

// terms are what the rule of a route says about its calls instead of the gates. A nil
// *terms leaves all to the gates.
type terms struct {
	maxWait            time.Duration // -1: as the gate says
	setDelay           bool
	minDelay, maxDelay time.Duration
	setRefusal         bool
	refusal            Refusal
}

// MaxWait sets how long the calls of the rule may wait, at all its gates together,
// instead of the gates' [WithMaxWait]. By default the gates say it. 0 turns waiting off
// for these calls. It is an error if d is negative, or above 0 and below 10 us. The
// caller's deadline can make the wait shorter, and nothing waits at a gate whose
// [WithMaxWaiting] is 0.
func (r Rule) MaxWait(d time.Duration) Rule {
	r.check("MaxWait", checkMaxWait("MaxWait", d))
	r.own().maxWait = d
	return r
}

// RetryDelay sets the range from which the retry delay of the rule's rejections is
// drawn, instead of the gates' [WithRetryDelay]: an expensive report may ask for more
// patience than a search. By default the gates say it. It is an error if minimum is
// negative, or above maximum, or if maximum is above [MaxRetryDelay].
//
// A range that grows with pressure ([WithRetryDelayGrowth]) grows from there to the
// gate's ceiling, if that is above maximum. A draining gate draws from
// [WithDrainDelay]'s range for all calls.
func (r Rule) RetryDelay(minimum, maximum time.Duration) Rule {
	r.check("RetryDelay", checkRange("RetryDelay", minimum, maximum))
	t := r.own()
	t.setDelay, t.minDelay, t.maxDelay = true, minimum, maximum
	return r
}

// Refusal sets which form the rejections of the rule have for clients, instead of the
// gates' [WithRefusal]. By default the gates say it. A draining gate always says
// [ServiceUnavailable].
func (r Rule) Refusal(form Refusal) Rule {
	r.check("Refusal", checkRefusal("Refusal", form))
	t := r.own()
	t.setRefusal, t.refusal = true, form
	return r
}

// own returns terms that only r has: a Rule is a value, and what it was made from may
// be in use, too.
func (r *Rule) own() *terms {
	t := terms{maxWait: -1}
	if r.plan.terms != nil {
		t = *r.plan.terms
	}
	r.plan.terms = &t
	return &t
}

// check notes an error of one of the rule's methods.
func (r *Rule) check(method string, err error) {
	r.failIfExempt(method)
	if err != nil {
		r.fail("%w", err)
	}
}

func checkMaxWait(name string, d time.Duration) error {
	if d < 0 || d > 0 && d < shortestMaxWait {
		return fmt.Errorf("%s: want 0 or at least %s, got %s", name, shortestMaxWait, d)
	}
	return nil
}

func checkRefusal(name string, r Refusal) error {
	if r > Unimplemented {
		return fmt.Errorf("%s: want TooManyRequests, ServiceUnavailable or Unimplemented, got Refusal(%d)", name, r)
	}
	return nil
}

// longestWait is how long a call may wait at a gate with the given settings.
func (t *terms) longestWait(s *settings) time.Duration {
	if t != nil && t.maxWait >= 0 {
		return t.maxWait
	}
	return s.maxWait
}

// delays is the range of the retry delay at a gate that does not drain.
func (t *terms) delays(s *settings) (low, high time.Duration) {
	if t != nil && t.setDelay {
		return t.minDelay, t.maxDelay
	}
	return s.minDelay, s.maxDelay
}

// refusalOf is the form of a rejection by a gate that does not drain.
func (t *terms) refusalOf(s *settings) Refusal {
	if t != nil && t.setRefusal {
		return t.refusal
	}
	return s.refusal
}
