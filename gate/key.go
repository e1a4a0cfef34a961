package gate

import (
	"errors"
	"fmt"
)

// WithKeyLimit caps the units that the calls of one [Call.Key] may have in
// flight or waiting. What goes beyond is refused at once with [ReasonKeyLimit].
// A single call above the cap runs when its key has nothing else. By default there
// is no cap. It is an error if n is not above 0.
//
// All calls without a key count as one client, so that no client gets around the cap
// by sending none; see [WithKeylessExempt].
func WithKeyLimit(n int64) Option {
	return optionFunc(func(s *settings) error {
		if n <= 0 {
			return fmt.Errorf("WithKeyLimit: want a limit above 0, got %d", n)
		}
		s.keyLimit = n
		return nil
	})
}

// WithKeyShare is [WithKeyLimit] with the cap as a share of the limit, above 0
// and at most 1, rounded down but at least 1. It follows the limit when that
// changes. With both given the lower cap counts.
func WithKeyShare(share float64) Option {
	return optionFunc(func(s *settings) error {
		if !(share > 0 && share <= 1) {
			return fmt.Errorf("WithKeyShare: want a share above 0 and at most 1, got %v", share)
		}
		s.keyShare = share
		return nil
	})
}

// WithKeyLimitFunc sets the caps of some keys, in units: for classes of clients, such as
// customers who pay for more. It counts instead of [WithKeyLimit] and [WithKeyShare],
// which are for the keys for which f returns 0 or less; without them these keys have no
// cap. By default no key has a cap of its own. It is an error if f is nil.
//
// f gets the [Call.Key] as the host made it, "" for calls without a key unless they are
// exempt. It runs on every call, outside of the lock, must be safe for concurrent use,
// and should be quick: look the key up in a map, not in a database. What it returns
// counts for calls that come afterwards.
func WithKeyLimitFunc(f func(key string) int64) Option {
	return optionFunc(func(s *settings) error {
		if f == nil {
			return errors.New("WithKeyLimitFunc: want a function, got nil")
		}
		s.keyLimitFunc = f
		return nil
	})
}

// WithKeylessExempt exempts calls without a key from all that the gate does by key.
// The limit itself counts them as ever. By default all of them are one client. Use it
// where only calls of your own have no key. It is an error at a gate that does not
// look at keys.
func WithKeylessExempt() Option {
	return optionFunc(func(s *settings) error {
		s.keylessExempt = true
		return nil
	})
}

// usesKeys reports whether the gate treats calls by their key.
func (s *settings) usesKeys() bool {
	return s.keyLimit > 0 || s.keyShare > 0 || s.keyLimitFunc != nil
}

// checkKeys finds what has no effect without a limit by key.
func (s *settings) checkKeys() error {
	if s.keylessExempt && !s.usesKeys() {
		return errors.New("WithKeylessExempt: want WithKeyLimit, WithKeyShare or WithKeyLimitFunc with it, got none")
	}
	return nil
}

// ownKeyLimit is the cap that only this key has, or 0.
func (s *settings) ownKeyLimit(key string) int64 {
	if s.keyLimitFunc == nil || key == "" && s.keylessExempt {
		return 0
	}
	return max(s.keyLimitFunc(key), 0)
}

// UsesKeys reports whether the gate looks at [Call.Key]: it has [WithKeyLimit],
// [WithKeyShare] or [WithKeyLimitFunc]. Hosts ask it about options that would have no effect.
func (g *Gate) UsesKeys() bool { return g.set().usesKeys() }

// keyedLocked reports whether the gate counts the units of a key.
func (g *Gate) keyedLocked(key string) bool {
	return g.keys != nil && (key != "" || !g.set().keylessExempt)
}

// overKeyCapLocked reports whether the key has no units left for a call. own is the cap
// that only this key has, or 0.
func (g *Gate) overKeyCapLocked(key string, own int64, level int, want int64) bool {
	most := g.keyCap
	if own > 0 {
		most = own
	}
	if most == 0 || !g.keyedLocked(key) {
		return false
	}
	used := g.keys[key]
	return used > 0 && g.clampLocked(level, want) > most-used
}

// bookKeyLocked counts the units of s, which waits or is about to hold, on its key.
func (g *Gate) bookKeyLocked(s *slot) {
	if !g.keyedLocked(s.call.Key) {
		return
	}
	s.keyCost, s.booked = g.clampLocked(s.level, s.want), true
	g.keys[s.call.Key] += s.keyCost
}

// unbookKeyLocked takes the units of s off its key again, and forgets a key that has
// none left.
func (g *Gate) unbookKeyLocked(s *slot) {
	if s.keyCost == 0 {
		return
	}
	if left := g.keys[s.call.Key] - s.keyCost; left > 0 {
		g.keys[s.call.Key] = left
	} else {
		delete(g.keys, s.call.Key)
	}
	s.keyCost = 0
}
