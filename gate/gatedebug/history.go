package gatedebug

import (
	"math"
	"strconv"
	"time"
)

// unknown stands for a rate that is not known yet: it takes two samples.
const unknown = -1

// numbers are the numbers of a gate in one sample. Rates are per second and waits
// are in milliseconds, both over the time since the sample before.
type numbers struct {
	inFlight, limit               int64
	waiting                       int
	waitMean, waitMax             float64
	accepted, rejected, abandoned float64 // or unknown
}

// numberColumns returns the names of what numbers.append writes.
func numberColumns() []string {
	return []string{"in_flight", "limit", "waiting", "waited_ms_mean", "waited_ms_max",
		"accepted_per_s", "rejected_per_s", "abandoned_per_s"}
}

// append writes the numbers as elements of a JSON array.
func (n *numbers) append(b []byte) []byte {
	b = strconv.AppendInt(b, n.inFlight, 10)
	b = append(b, ',')
	b = strconv.AppendInt(b, n.limit, 10)
	b = append(b, ',')
	b = strconv.AppendInt(b, int64(n.waiting), 10)
	for _, f := range [...]float64{n.waitMean, n.waitMax, n.accepted, n.rejected, n.abandoned} {
		b = append(b, ',')
		b = appendNumber(b, f)
	}
	return b
}

// appendNumber writes f rounded to two decimals, or null if it is unknown.
func appendNumber(b []byte, f float64) []byte {
	if f < 0 {
		return append(b, "null"...)
	}
	return strconv.AppendFloat(b, math.Round(f*100)/100, 'f', -1, 64)
}

// sample is the numbers of a gate at one time.
type sample struct {
	t int64 // in Unix milliseconds
	numbers
}

// history keeps the last samples of a gate.
type history struct {
	ring []sample
	next int
}

func (h *history) add(s sample, keep int) {
	if len(h.ring) < keep {
		h.ring = append(h.ring, s)
		return
	}
	h.ring[h.next] = s
	h.next = (h.next + 1) % len(h.ring)
}

// append writes the samples of the last window as a JSON array of arrays, the
// oldest first.
func (h *history) append(b []byte, now time.Time, window time.Duration) []byte {
	b = append(b, '[')
	empty := true
	for i := range h.ring {
		s := &h.ring[(h.next+i)%len(h.ring)]
		if s.t < now.Add(-window).UnixMilli() {
			continue
		}
		if !empty {
			b = append(b, ',')
		}
		empty = false
		b = append(b, '[')
		b = strconv.AppendInt(b, s.t, 10)
		b = append(b, ',')
		b = s.numbers.append(b)
		b = append(b, ']')
	}
	return append(b, ']')
}

// appendSpark writes the samples from a time on as a JSON array of [share of the
// limit, rejected per second], the oldest first.
func (h *history) appendSpark(b []byte, from time.Time) []byte {
	b = append(b, '[')
	empty := true
	for i := range h.ring {
		s := &h.ring[(h.next+i)%len(h.ring)]
		if s.t < from.UnixMilli() {
			continue
		}
		if !empty {
			b = append(b, ',')
		}
		empty = false
		b = append(b, '[')
		b = appendNumber(b, float64(s.inFlight)/float64(s.limit))
		b = append(b, ',')
		b = appendNumber(b, s.rejected)
		b = append(b, ']')
	}
	return append(b, ']')
}
