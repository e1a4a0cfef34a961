package gatedebug

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcgate/rpcgate/gate/internal/era"
)

const (
	// window is how much of the past the charts show.
	window = 5 * time.Minute
	// grace is how long the sampler goes on after the last viewer has left and all
	// gates are calm. When the page is loaded again or opens another gate, its
	// charts have no gap.
	grace = 3 * time.Second
	// linger is how long the samples are kept after that.
	linger = window
	// maxSamples bounds the samples of all gates together.
	maxSamples = 60_000
)

// hub samples the gates while there are viewers or a gate is in trouble, and sends
// the samples to the viewers.
type hub struct {
	watches []*watch
	config  config
	byName  map[string]*watch

	// sampling is one more than the era in which the sampler runs, or 0 if it does
	// not run. It is written with the lock.
	sampling atomic.Uint64

	mu      sync.Mutex // guards what follows
	viewers map[*viewer]struct{}
	leaving int         // viewers that gave way and have not left yet
	joined  uint64      // viewers so far
	era     era.Era     // of the viewers, the timer and the samples
	busy    time.Time   // when there was last a viewer or trouble
	timer   *time.Timer // fires for the next sample; nil while the sampler is off
	runs    int         // of the sampler, so far
	last    time.Time   // of the last sample; zero before the first of this run
	gates   []sampled   // by index; nil if there are no samples
	samples uint64      // taken so far
	cursor  int         // the gate whose turn it is; see tickMessageLocked
}

// sampled is what the hub knows about a gate.
type sampled struct {
	totals  totals
	pace    pace
	row     row
	changed bool // the row has changed since it was last sent
	urgent  bool // the row is about a gate in trouble, or was since it was last sent
	history history
	routes  []routeRow // while the gate is open
	seq     uint64     // of the last rejection that was sent
}

// alarm starts the sampler when a gate gets into trouble. A viewer that comes in the
// middle of it sees how it began.
func (h *hub) alarm(now era.Era) {
	if now == era.Unknown || h.sampling.Load() == uint64(now)+1 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.viewers) == 0 || h.era.Same(now) {
		h.runLocked(now)
	}
}

// runLocked starts the sampler in an era unless it runs there. The samples of another
// one are forgotten.
func (h *hub) runLocked(now era.Era) {
	if !h.era.Same(now) {
		h.era, h.timer, h.gates = now, nil, nil
	}
	if h.timer == nil {
		h.startLocked()
	}
}

// startLocked takes the first sample, whose rates are unknown, and sets the timer
// for the next one.
func (h *hub) startLocked() {
	h.sampling.Store(uint64(h.era) + 1) // other calls need not wait for the lock to sound the alarm
	if h.gates == nil {
		h.gates = make([]sampled, len(h.watches))
	}
	h.last = time.Time{}
	for i := range h.gates {
		h.gates[i].pace = pace{}
	}
	h.sampleLocked()
	h.busy = h.last
	h.runs++
	run := h.runs
	h.timer = time.AfterFunc(h.config.interval, func() { h.tick(run) })
}

// tick samples the gates and sends the samples to the viewers. A timer of an earlier
// run, in another era, does nothing.
func (h *hub) tick(run int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if run != h.runs {
		return
	}
	if h.stopLocked() {
		time.AfterFunc(linger, func() { h.giveUp(run) })
		return
	}
	h.sampleLocked()
	if len(h.viewers) > 0 {
		h.sendLocked()
	}
	h.timer.Reset(h.config.interval)
}

// stopLocked stops the sampler if nobody has needed it for a while, and reports
// whether it did. Trouble that is not seen here sounds the alarm.
func (h *hub) stopLocked() bool {
	running := h.sampling.Swap(0)
	now := time.Now()
	if len(h.viewers) > 0 || h.troubledLocked(now) {
		h.busy = now
	}
	if now.Sub(h.busy) >= grace {
		h.timer = nil
		return true
	}
	h.sampling.Store(running)
	return false
}

func (h *hub) troubledLocked(now time.Time) bool {
	for _, w := range h.watches {
		if w.inTrouble(h.era, now) {
			return true
		}
	}
	return false
}

// giveUp drops the samples, unless the sampler has run again since the given run.
func (h *hub) giveUp(run int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if run == h.runs {
		h.gates = nil
	}
}

// sampleLocked takes a sample of all gates.
func (h *hub) sampleLocked() {
	now := time.Now()
	elapsed := time.Duration(0)
	if !h.last.IsZero() {
		elapsed = now.Sub(h.last)
	}
	h.last = now
	h.samples++
	keep := min(int(window/h.config.interval), max(maxSamples/max(len(h.gates), 1), 1))
	for i, w := range h.watches {
		g := &h.gates[i]
		s := w.gate.Overview()
		g.renew(w, &s, now, elapsed)
		g.history.add(sample{now.UnixMilli(), g.row.numbers}, keep)
		if w.open.Load() > 0 {
			g.routes = w.takeRoutes(elapsed)
		}
	}
}

// mostPressedLocked returns the gate under most pressure, or nil if there are no
// gates.
func (h *hub) mostPressedLocked() *watch {
	var most *watch
	for i, w := range h.watches {
		if most == nil || h.gates[i].row.pressure > h.gates[most.index].row.pressure {
			most = w
		}
	}
	return most
}
