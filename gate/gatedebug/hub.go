package gatedebug

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rpcgate/rpcgate/gate/internal/era"
)

const (
	// window is how much of the past the charts show.
	window = 5 * time.Minute
	// grace is how long the sampler goes on after the last viewer has left.
	// When the page is loaded again or opens another gate, its charts have no
	// gap.
	grace = 3 * time.Second
	// linger is how long the samples are kept after that.
	linger = time.Minute
	// maxSamples bounds the samples of all gates together.
	maxSamples = 60_000
)

var errElsewhere = errors.New("the page is open in another bubble of testing/synctest, or outside of it")

// hub samples the gates while there are viewers, and sends them the samples.
type hub struct {
	watches []*watch
	config  config
	byName  map[string]*watch

	mu      sync.Mutex // guards what follows
	viewers map[*viewer]struct{}
	era     era.Era     // of the viewers, the timer and the samples
	left    time.Time   // when the last viewer left
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

// viewer is one stream of events.
type viewer struct {
	watch    *watch // of the open gate; nil if there are no gates
	messages chan []byte
	slow     chan struct{} // closed when the viewer does not keep up
	isSlow   bool
}

// send queues a message. If the queue is full, it gives the viewer up.
func (v *viewer) send(message []byte) {
	if v.isSlow {
		return
	}
	select {
	case v.messages <- message:
	default:
		v.isSlow = true
		close(v.slow)
	}
}

// join adds a viewer of the named gate or, if there is no such gate, of the one
// under most pressure. The first viewer starts the sampler.
func (h *hub) join(name string) (*viewer, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := era.Of(time.Now())
	if err := h.refuseLocked(now); err != nil {
		return nil, err
	}
	if !h.era.Same(now) {
		h.era, h.timer, h.gates = now, nil, nil
	}
	if h.timer == nil {
		h.startLocked()
	}
	v := &viewer{messages: make(chan []byte, 8), slow: make(chan struct{})}
	h.viewers[v] = struct{}{}
	v.send(h.helloMessageLocked())
	if v.watch = h.byName[name]; v.watch == nil {
		v.watch = h.mostPressedLocked()
	}
	if v.watch != nil {
		v.watch.open.Add(1)
		v.send(h.closeUpMessageLocked(v.watch, h.last, true))
	}
	return v, nil
}

// refuseLocked returns an error if no viewer may join now. A viewer of another era
// cannot be served by the same timer.
func (h *hub) refuseLocked(now era.Era) error {
	switch {
	case len(h.viewers) >= h.config.maxViewers:
		return fmt.Errorf("too many viewers: at most %d may have this page open", h.config.maxViewers)
	case len(h.viewers) > 0 && !h.era.Same(now):
		return errElsewhere
	default:
		return nil
	}
}

// leave removes a viewer. Without viewers the sampler stops after grace.
func (h *hub) leave(v *viewer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.viewers, v)
	if v.watch != nil && v.watch.open.Add(-1) == 0 {
		v.watch.mu.Lock()
		v.watch.routes = routes{}
		v.watch.mu.Unlock()
		h.gates[v.watch.index].routes = nil
	}
	h.left = time.Now()
}

// giveUp drops the samples, unless the sampler has run again since the given run.
func (h *hub) giveUp(run int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if run == h.runs {
		h.gates = nil
	}
}

// startLocked takes the first sample, whose rates are unknown, and sets the timer
// for the next one.
func (h *hub) startLocked() {
	if h.gates == nil {
		h.gates = make([]sampled, len(h.watches))
	}
	h.last = time.Time{}
	for i := range h.gates {
		h.gates[i].pace = pace{}
	}
	h.sampleLocked()
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
	if len(h.viewers) == 0 && time.Since(h.left) >= grace {
		h.timer = nil
		time.AfterFunc(linger, func() { h.giveUp(run) })
		return
	}
	h.sampleLocked()
	message := h.tickMessageLocked()
	closeUps := make(map[*watch][]byte)
	for v := range h.viewers {
		v.send(message)
		if v.watch == nil {
			continue
		}
		if closeUps[v.watch] == nil {
			closeUps[v.watch] = h.closeUpMessageLocked(v.watch, h.last, false)
		}
		v.send(closeUps[v.watch])
	}
	h.timer.Reset(h.config.interval)
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
