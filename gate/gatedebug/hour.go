package gatedebug

import (
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

// minutes is how many minutes of the past are kept.
const minutes = 60

// minute counts the calls of one minute that did not pass at once.
type minute struct {
	Unix      int64   `json:"t"` // when the minute began, in Unix seconds
	Rejected  uint64  `json:"rejected"`
	Abandoned uint64  `json:"abandoned"`
	Waited    uint64  `json:"waited"` // accepted after a wait
	WaitedMax float64 `json:"waited_ms_max"`
	InFlight  int64   `json:"in_flight_max"`
	Waiting   int     `json:"waiting_max"`
}

// hour is the last hour of a gate by minutes. It takes no memory before the first
// call that did not pass at once.
type hour struct {
	ring []minute
}

func (h *hour) add(now time.Time, e *gate.Event) {
	if h.ring == nil {
		h.ring = make([]minute, minutes)
	}
	unix := now.Unix() / 60 * 60
	m := &h.ring[unix/60%minutes]
	if m.Unix != unix {
		*m = minute{Unix: unix}
	}
	switch {
	case e.Decision.Rejected():
		m.Rejected++
	case e.Decision == gate.Abandoned:
		m.Abandoned++
	default:
		m.Waited++
	}
	m.WaitedMax = max(m.WaitedMax, ms(e.Waited))
	m.InFlight = max(m.InFlight, e.InFlight)
	m.Waiting = max(m.Waiting, e.Waiting)
}

// list returns the minutes with such calls, the oldest first: the current one and
// those up to back minutes before it.
func (h *hour) list(now time.Time, back int64) []minute {
	var out []minute
	if h.ring == nil {
		return out
	}
	this := now.Unix() / 60
	for n := this - min(back, minutes-1); n <= this; n++ {
		if m := h.ring[n%minutes]; m.Unix == n*60 {
			out = append(out, m)
		}
	}
	return out
}

// ms returns d in milliseconds, rounded to two decimals.
func ms(d time.Duration) float64 {
	return float64(d.Round(10*time.Microsecond)/time.Microsecond) / 1000
}
