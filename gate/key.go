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
func (s *settings) usesKeys() bool { return s.keyLimit > 0 || s.keyShare > 0 }

// checkKeys finds what has no effect without a limit by key.
func (s *settings) checkKeys() error {
	if s.keylessExempt && !s.usesKeys() {
		return errors.New("WithKeylessExempt: want WithKeyLimit or WithKeyShare with it, got neither")
	}
	return nil
}

// UsesKeys reports whether the gate looks at [Call.Key]: it has [WithKeyLimit] or
// [WithKeyShare]. Hosts ask it about options that would have no effect.
func (g *Gate) UsesKeys() bool { return g.set().usesKeys() }

// keyedLocked reports whether the gate counts the units of a key.
func (g *Gate) keyedLocked(key string) bool {
	return g.keys != nil && (key != "" || !g.set().keylessExempt)
}

// overKeyCapLocked reports whether the key has no units left for a call.
func (g *Gate) overKeyCapLocked(key string, level int, want int64) bool {
	if g.keyCap == 0 || !g.keyedLocked(key) {
		return false
	}
	used := g.keys[key]
	return used > 0 && g.clampLocked(level, want) > g.keyCap-used
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
