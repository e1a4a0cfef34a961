package host

import (
	"math"
	"time"
)

// MinRate is how fast a client must be. The zero MinRate is no bound.
type MinRate struct {
	BytesPerSecond int64
	Grace          time.Duration
}

// defaultMinRate is the MinRate without an option.
func defaultMinRate() MinRate { return MinRate{BytesPerSecond: 1 << 10, Grace: 5 * time.Second} }

// Bounds reports whether there is a bound.
func (r MinRate) Bounds() bool { return r.BytesPerSecond > 0 }

// TimeFor returns how long a client may take for so many bytes.
func (r MinRate) TimeFor(bytes int64) time.Duration {
	took := float64(r.Grace) + float64(bytes)/float64(r.BytesPerSecond)*float64(time.Second)
	if took >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(took)
}
