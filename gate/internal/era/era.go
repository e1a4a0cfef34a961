// Package era tells the clocks of a program apart.
//
// A gate and what observes it may be variables of a package, and be used in tests in
// bubbles of testing/synctest. Each bubble has a clock of its own. The channels and
// timers that are made in a bubble belong to it: to use them elsewhere ends the
// program. And a goroutine that waits for those made elsewhere stops the bubble's
// clock. So what is kept to be used again has an era, and is made anew in another one.
package era

import (
	"bytes"
	"runtime"
	"strconv"
	"time"
)

// Era is the clock that time is read from: Real, or that of a bubble. Times can be
// compared only within one era.
type Era uint64

const (
	// Real is the era outside of bubbles.
	Real Era = 0
	// Unknown is a bubble that could not be told from others. Nothing that is
	// made in it may be used again.
	Unknown Era = 1<<64 - 1
)

// Same reports whether what was made in e may be used in now.
func (e Era) Same(now Era) bool { return e == now && now != Unknown }

// Of returns the era of a time that time.Now has just returned to the same goroutine.
func Of(now time.Time) Era {
	if now != now.Round(0) { // it has a reading of the monotonic clock, as there is none in a bubble
		return Real
	}
	return bubble()
}

// bubble returns the era of the bubble that the goroutine is in. Nothing tells its
// number but the first line of a stack trace: "goroutine 7 [running, synctest bubble 3]:".
// That takes some microseconds, which only tests pay.
func bubble() Era {
	var buf [96]byte
	line, _, _ := bytes.Cut(buf[:runtime.Stack(buf[:], false)], []byte("]"))
	_, number, found := bytes.Cut(line, []byte("synctest bubble "))
	if !found {
		return Unknown
	}
	n, err := strconv.ParseUint(string(number), 10, 63)
	if err != nil {
		return Unknown
	}
	return Era(n) + 1
}

// Clock tells the time since it was made. It is for windows of time: it is quicker
// than time.Now, but takes a bubble for real whose clock has come to the present.
type Clock struct {
	base time.Time
	era  Era
}

// NewClock returns a Clock that begins now.
func NewClock() Clock {
	now := time.Now()
	return Clock{now, Of(now)}
}

// Now returns the time since c was made, which may be negative in another era, and
// the era.
func (c Clock) Now() (time.Duration, Era) {
	since := time.Since(c.base)
	if c.era == Real && since >= 0 { // a bubble begins in the year 2000
		return since, Real
	}
	return since, Of(time.Now())
}
