package gatedebug

import (
	"errors"
	"sync"
	"time"
)

const (
	// window is how much of the past the charts show.
	window = 5 * time.Minute
	// grace is how long the sampler goes on when nobody watches any more, so
	// that the charts of a page that is loaded again, or opens another gate,
	// have no gap.
	grace = 3 * time.Second
	// linger is how long the samples stay after that.
	linger = time.Minute
	// maxSamples bounds the samples that are kept of all gates together.
	maxSamples = 60_000
)

var errTooMany = errors.New("too many viewers")

// hub samples the gates for all viewers while there are any.
type hub struct {
	watches []*watch
	config  config
	byName  map[string]*watch

	mu      sync.Mutex // guards what follows
	viewers map[*viewer]struct{}
	left    time.Time   // when the last viewer left
	timer   *time.Timer // the next sample; nil while the sampler stands still
	forget  *time.Timer // gives up the samples
	last    time.Time   // of the last sample since somebody watches
	gates   []sampled   // by index; nil when nobody has watched for a while
	samples uint64      // taken so far
	cursor  int         // the gate whose turn it is in the list; see tickMessage
}

// sampled is what the hub knows of a gate.
type sampled struct {
	totals  totals
	pace    pace
	row     row
	changed bool // and not all viewers know the row yet
	urgent  bool // it is, or was before it changed, one of a gate in trouble
	history history
	routes  []routeRow // while the gate is open
	seq     uint64     // of the last rejection that viewers know
}

// viewer is one stream of events.
type viewer struct {
	watch    *watch // of the gate that it has open; nil if there are no gates
	messages chan []byte
	slow     chan struct{} // closed when it does not keep up
	isSlow   bool
}

// send queues a message, or gives the viewer up.
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

// join adds a viewer of the named gate, or of the one under most pressure if
// there is no gate of that name. The first one starts the sampler.
func (h *hub) join(name string) (*viewer, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.viewers) >= h.config.maxViewers {
		return nil, errTooMany
	}
	if h.timer == nil {
		h.start()
	}
	v := &viewer{messages: make(chan []byte, 8), slow: make(chan struct{})}
	h.viewers[v] = struct{}{}
	v.send(h.helloMessage())
	if v.watch = h.byName[name]; v.watch == nil {
		v.watch = h.mostPressed()
	}
	if v.watch != nil {
		v.watch.open.Add(1)
		v.send(h.closeUpMessage(v.watch, h.last, true))
	}
	return v, nil
}

// leave removes a viewer. The last one leads to the end of the sampler.
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

// giveUp frees the samples if nobody watches.
func (h *hub) giveUp() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.timer == nil {
		h.gates = nil
	}
}

// start begins to sample, with rates that are not known yet. The lock is held.
func (h *hub) start() {
	if h.forget != nil {
		h.forget.Stop()
	}
	if h.gates == nil {
		h.gates = make([]sampled, len(h.watches))
	}
	h.last = time.Time{}
	for i := range h.gates {
		h.gates[i].pace = pace{}
	}
	h.sample()
	h.timer = time.AfterFunc(h.config.interval, h.tick)
}

// tick samples the gates and tells the viewers.
func (h *hub) tick() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.viewers) == 0 && time.Since(h.left) >= grace {
		h.timer = nil
		h.forget = time.AfterFunc(linger, h.giveUp)
		return
	}
	h.sample()
	message := h.tickMessage()
	closeUps := make(map[*watch][]byte)
	for v := range h.viewers {
		v.send(message)
		if v.watch == nil {
			continue
		}
		if closeUps[v.watch] == nil {
			closeUps[v.watch] = h.closeUpMessage(v.watch, h.last, false)
		}
		v.send(closeUps[v.watch])
	}
	h.timer.Reset(h.config.interval)
}

// sample looks at all gates. The lock is held.
func (h *hub) sample() {
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

// mostPressed is the gate under most pressure, or nil if there is none. The lock
// is held.
func (h *hub) mostPressed() *watch {
	var most *watch
	for i, w := range h.watches {
		if most == nil || h.gates[i].row.pressure > h.gates[most.index].row.pressure {
			most = w
		}
	}
	return most
}
