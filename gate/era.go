package gate

import (
	"time"

	"github.com/rpcgate/rpcgate/gate/internal/era"
)

// moment is a time on the gate's scale, and the era that it was read in.
type moment struct {
	at  int64 // nanoseconds since the gate was made, never 0, which stands for unknown
	era era.Era
}

// moment reads the clock. It takes longer than now.
func (g *Gate) moment() moment {
	t := time.Now()
	at := int64(t.Sub(g.base))
	if at >= 0 {
		at++
	}
	return moment{at, era.Of(t)}
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
