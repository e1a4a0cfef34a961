package gate

import (
	"cmp"
	"sync/atomic"
)

// rank is where a gate stands among others in a chain. It never changes, so that no
// two chains ever take two gates in different order and wait for each other.
type rank struct {
	width int64  // the limit that the gate was made with
	age   uint64 // the number of gates that were made before
}

// made counts the gates of the program. Clocks cannot tell which of two gates is
// older: in a bubble of testing/synctest both may be made at the same time.
var made atomic.Uint64

func newRank(width int64) rank { return rank{width, made.Add(1)} }

func (r rank) compare(other rank) int {
	return cmp.Or(cmp.Compare(r.width, other.width), cmp.Compare(r.age, other.age))
}
