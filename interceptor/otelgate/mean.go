package otelgate

import (
	"sync/atomic"
	"time"
)

// mean is a moving mean of how long leases were held. It follows about the last
// [meanCalls] calls.
type mean struct{ ns atomic.Int64 }

const (
	meanCalls = 64
	wellAbove = 2 // times the mean
)

// exceededBy reports whether held is well above the mean, and adds it to the mean.
// The first call has nothing to exceed. Calls that end at the same moment may miss
// each other: one of them more or less does not change a mean.
func (m *mean) exceededBy(held time.Duration) bool {
	before, now := m.ns.Load(), int64(held)
	if before == 0 {
		m.ns.Store(now)
		return false
	}
	m.ns.Store(before + (now-before)/meanCalls)
	return now >= wellAbove*before
}
