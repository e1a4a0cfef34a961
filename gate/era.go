package gate

import (
	"bytes"
	"runtime"
	"strconv"
	"time"
)

// A gate may be made in one place and used in bubbles of testing/synctest, such as
// a gate that is a package's variable and the tests of that package. Each bubble
// has a clock of its own. The channels and timers that are made in a bubble belong
// to it: to use them elsewhere ends the program. And a goroutine that waits for
// those made elsewhere stops the bubble's clock. So what a gate keeps to use again
// for the next wait has an era, and is made anew in another one.

// era is the clock that time is read from: realTime, or the number of a bubble.
type era uint64

const (
	realTime era = 0
	// unknownEra is a bubble whose number could not be found out. Nothing that
	// is made in it is used again.
	unknownEra era = 1<<64 - 1
)

// moment is a time on the gate's scale, and the era that it was read in.
type moment struct {
	at  int64 // nanoseconds since the gate was made, never 0, which stands for unknown
	era era
}

// moment reads the clock. It takes longer than now.
func (g *Gate) moment() moment {
	t := time.Now()
	at := int64(t.Sub(g.base))
	if at >= 0 {
		at++
	}
	if t != t.Round(0) { // it has a reading of the monotonic clock, as there is none in a bubble
		return moment{at, realTime}
	}
	return moment{at, bubble()}
}

// now reads the clock: the time since the gate was made, in nanoseconds. It is
// never 0, so that 0 can stand for a time that is not known.
func (g *Gate) now() int64 {
	at := int64(time.Since(g.base))
	if at >= 0 {
		at++
	}
	return at
}

// bubble returns the number of the bubble that the goroutine is in. Nothing tells
// it but the first line of a stack trace: "goroutine 7 [running, synctest bubble 3]:".
// That takes some microseconds, which only tests pay.
func bubble() era {
	var buf [96]byte
	line, _, _ := bytes.Cut(buf[:runtime.Stack(buf[:], false)], []byte("]"))
	_, number, found := bytes.Cut(line, []byte("synctest bubble "))
	if !found {
		return unknownEra
	}
	n, err := strconv.ParseUint(string(number), 10, 63)
	if err != nil {
		return unknownEra
	}
	return era(n) + 1
}
