package model

import (
	"math"
	"math/big"
	"slices"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

// What can be asked of the reference. Nothing here changes it.

func (r *reference) all(s state) []*call {
	var found []*call
	for _, c := range r.present {
		if c.state == s {
			found = append(found, c)
		}
	}
	return found
}

// held is what counts against the limit; inFlight is what is in use.
func (r *reference) held() (n int64) {
	for _, c := range r.all(holding) {
		n += c.cost
	}
	return n
}

func (r *reference) inFlight() int64 {
	n := r.held()
	for _, c := range r.present {
		if c.state == passing || c.state == waiting && c.dry {
			n += c.cost
		}
	}
	return n
}

func (r *reference) empty() bool { return r.inFlight() == 0 && len(r.all(waiting)) == 0 }

func (r *reference) used(key string) (n int64) {
	for _, c := range r.present {
		if c.key == key {
			n += c.booked
		}
	}
	return n
}

// room is what calls of a priority may fill: the limit less what is reserved for those above.
func (r *reference) room(p gate.Priority) int64 {
	room := r.limit
	for above, units := range r.reserve {
		if above > p {
			room -= units
		}
	}
	return max(room, 1)
}

// units is what a call takes: a cost above the room is clamped, so that the call runs alone.
func (r *reference) units(c *call) int64 { return min(c.want, r.room(c.level)) }

func (r *reference) fits(c *call) bool { return r.held()+r.units(c) <= r.room(c.level) }

// queueCap is by default how many calls fit into the limit at the mean cost of those in flight, and at least 16.
func (r *reference) queueCap() int {
	if r.maxWaiting >= 0 {
		return r.maxWaiting
	}
	var calls, units int64
	for _, c := range r.present {
		if c.state != waiting || c.dry {
			calls++
			units += c.cost
		}
	}
	fit := big.NewInt(r.limit)
	if units > 0 {
		fit.Mul(fit, big.NewInt(calls)).Quo(fit, big.NewInt(units))
	}
	if !fit.IsInt64() {
		return math.MaxInt32
	}
	return int(min(max(fit.Int64(), 16), math.MaxInt32))
}

func (r *reference) overKeyCap(c *call) bool {
	keyCap := r.keyLimit
	if r.keyShare > 0 {
		if share := max(int64(r.keyShare*float64(r.limit)), 1); keyCap == 0 || share < keyCap {
			keyCap = share
		}
	}
	used := r.used(c.key)
	return keyCap > 0 && r.keyed(c) && used > 0 && used+r.units(c) > keyCap
}

// keyed reports whether a call counts for a client: calls without a key are one client, too, unless they are exempt.
func (r *reference) keyed(c *call) bool { return c.key != "" || !r.keyless }

// front is whose turn it is: the highest priority, and of these who came first.
func (r *reference) front() *call {
	var front *call
	for _, c := range r.all(waiting) {
		if front == nil || c.level > front.level {
			front = c
		}
	}
	return front
}

// displaced is who makes place for a call in a full queue: of the lowest priority, if that is lower, who came last.
func (r *reference) displaced(by *call) *call {
	var last *call
	for _, c := range r.all(waiting) {
		if c.level < by.level && (last == nil || c.level <= last.level) {
			last = c
		}
	}
	return last
}

func (r *reference) behindSomebody(c *call) bool {
	return slices.ContainsFunc(r.all(waiting), func(w *call) bool { return w.level >= c.level })
}

// budget is how long a call with so much left of its deadline may wait.
func (r *reference) budget(left time.Duration, hasDeadline bool) (budget time.Duration, tooShort bool) {
	if !hasDeadline {
		return r.maxWait, false
	}
	share := r.share * float64(left) // as a number, for what is left may be centuries
	if share >= float64(r.maxWait) {
		return r.maxWait, false
	}
	return time.Duration(share), share < float64(time.Millisecond)
}

// nextExpiry is the waiting call whose time is up first, or nil.
func (r *reference) nextExpiry() *call {
	var next *call
	for _, c := range r.all(waiting) {
		if next == nil || c.expiry < next.expiry {
			next = c
		}
	}
	return next
}
