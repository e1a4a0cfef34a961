package pace

import (
	"math"
	"time"
)

// Rate is how fast a client must be. The zero Rate is no bound.
type Rate struct {
	BytesPerSecond int64
	Grace          time.Duration
}

// DefaultRate is the Rate of hosts without an option.
func DefaultRate() Rate { return Rate{BytesPerSecond: 1 << 10, Grace: 5 * time.Second} }

// Bounds reports whether there is a bound.
func (r Rate) Bounds() bool { return r.BytesPerSecond > 0 }

// forever is longer than any call takes, and can be added to a time.
const forever = time.Duration(math.MaxInt64 / 2)

// TimeFor returns how long a client may take for so many bytes.
func (r Rate) TimeFor(bytes int64) time.Duration {
	took := float64(r.Grace) + float64(bytes)/float64(r.BytesPerSecond)*float64(time.Second)
	if took >= float64(forever) {
		return forever
	}
	return time.Duration(took)
}
