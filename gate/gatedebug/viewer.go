package gatedebug

import (
	"errors"
	"fmt"
	"time"

	"github.com/rpcgate/rpcgate/gate/internal/era"
)

var errElsewhere = errors.New("the page is open in another bubble of testing/synctest, or outside of it")

// viewer is one stream of events.
type viewer struct {
	watch    *watch      // of the open gate; nil if there are no gates
	messages chan []byte // closed when the stream must end
	ended    bool        // messages is closed
	gaveWay  bool        // to a later viewer
	number   uint64      // counts the viewers
}

func newViewer() *viewer { return &viewer{messages: make(chan []byte, 8)} }

// send queues a message. It gives up a viewer that does not keep up.
func (v *viewer) send(message []byte) {
	if v.ended {
		return
	}
	select {
	case v.messages <- message:
	default:
		v.end()
	}
}

// end lets the stream end after the messages in the queue.
func (v *viewer) end() {
	if !v.ended {
		v.ended = true
		close(v.messages)
	}
}

// join adds a viewer of the named gate or, if there is no such gate, of the one
// under most pressure. The first viewer starts the sampler.
//
// If there are too many viewers, the one who came first gives way. A viewer that comes
// only if there is room does not make others leave: it gets the first messages, and
// its stream ends.
func (h *hub) join(name string, ifRoom bool) (*viewer, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := era.Of(time.Now())
	if err := h.refuseLocked(now); err != nil {
		return nil, err
	}
	full := len(h.viewers) >= h.config.maxViewers
	if full && !ifRoom {
		h.firstLocked().giveWay(h)
		full = false
	}
	h.runLocked(now)
	v := newViewer()
	v.send(h.helloMessageLocked())
	watch := h.byName[name]
	if watch == nil {
		watch = h.mostPressedLocked()
	}
	if watch != nil {
		v.send(h.closeUpMessageLocked(watch, h.last, true))
	}
	if full {
		v.send(h.fullMessage())
		v.end()
		return v, nil
	}
	h.joined++
	v.number = h.joined
	h.viewers[v] = struct{}{}
	if v.watch = watch; watch != nil {
		watch.open.Add(1)
	}
	return v, nil
}

// firstLocked returns the viewer who came first.
func (h *hub) firstLocked() *viewer {
	var first *viewer
	for v := range h.viewers {
		if first == nil || v.number < first.number {
			first = v
		}
	}
	return first
}

// giveWay removes a viewer and tells it so, as the last message. The caller has the
// lock of the hub.
func (v *viewer) giveWay(h *hub) {
	delete(h.viewers, v)
	h.leaving++
	v.gaveWay = true
	select {
	case <-v.messages: // so that there is room for the last one
	default:
	}
	v.send(h.fullMessage())
	v.end()
}

// refuseLocked returns an error if no viewer may join now. A viewer of another era
// cannot be served by the same timer. And viewers that gave way may take a while to
// leave, if their connections are stuck.
func (h *hub) refuseLocked(now era.Era) error {
	switch {
	case len(h.viewers)+h.leaving > 0 && !h.era.Same(now):
		return errElsewhere
	case h.leaving >= h.config.maxViewers:
		return fmt.Errorf("too many viewers: at most %d may have this page open, and as many are still leaving", h.config.maxViewers)
	default:
		return nil
	}
}

// leave removes a viewer. The sampler goes on for a while.
func (h *hub) leave(v *viewer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.viewers, v)
	if v.gaveWay {
		h.leaving--
	}
	if v.watch != nil && v.watch.open.Add(-1) == 0 {
		v.watch.mu.Lock()
		v.watch.routes = routes{}
		v.watch.mu.Unlock()
		if h.gates != nil {
			h.gates[v.watch.index].routes = nil
		}
	}
	h.busy = time.Now()
}

// sendLocked sends the last sample to the viewers.
func (h *hub) sendLocked() {
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
}
