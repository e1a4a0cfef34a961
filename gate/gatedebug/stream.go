package gatedebug

import (
	"net/http"
	"strconv"
	"sync"
	"time"
)

const (
	// writeTimeout is how long a viewer may take to read a message.
	writeTimeout = 10 * time.Second
	// retryTooMany is when a viewer should try again if there are too many, in
	// seconds.
	retryTooMany = 10
)

// serveEvents streams events until the viewer leaves or the server shuts down.
func (p *page) serveEvents(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodHead && !p.hub.full():
		w.Header().Set("Content-Type", "text/event-stream")
	case r.Method == http.MethodGet && p.stream(w, r):
	default:
		w.Header().Set("Retry-After", strconv.Itoa(retryTooMany))
		http.Error(w, "too many viewers: at most "+strconv.Itoa(p.config.maxViewers)+" may have this page open",
			http.StatusServiceUnavailable)
	}
}

// stream adds a viewer and sends it the events. It returns false, and has written
// nothing, if there are too many viewers.
func (p *page) stream(w http.ResponseWriter, r *http.Request) bool {
	v, err := p.hub.join(r.URL.Query().Get("gate"))
	if err != nil {
		return false
	}
	defer p.hub.leave(v)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // otherwise nginx holds the events back
	c := http.NewResponseController(w)
	// The server's timeouts are for requests that end, so they are replaced where
	// the writer supports it.
	_ = c.SetReadDeadline(time.Time{})
	defer func() { _ = c.SetWriteDeadline(time.Time{}) }()

	down := p.shutdowns.of(r)
	message := []byte("retry: 2000\n\n")
	for {
		_ = c.SetWriteDeadline(time.Now().Add(writeTimeout))
		if _, err := w.Write(message); err != nil {
			return true
		}
		if err := c.Flush(); err != nil {
			return true
		}
		select {
		case message = <-v.messages:
		case <-v.slow:
			return true
		case <-down:
			return true
		case <-r.Context().Done():
			return true
		}
	}
}

// full reports whether no more viewers can join.
func (h *hub) full() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.viewers) >= h.config.maxViewers
}

// shutdowns knows which servers are shutting down. [http.Server.Shutdown] waits
// for open requests, and the stream of an open page would never end.
type shutdowns struct {
	mu   sync.Mutex
	down map[*http.Server]chan struct{}
}

// of returns a channel that is closed when the server of the request begins to
// shut down. It is nil if the request has no server.
func (s *shutdowns) of(r *http.Request) <-chan struct{} {
	server, ok := r.Context().Value(http.ServerContextKey).(*http.Server)
	if !ok {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	down := s.down[server]
	if down == nil {
		if s.down == nil {
			s.down = make(map[*http.Server]chan struct{})
		}
		down = make(chan struct{})
		s.down[server] = down
		server.RegisterOnShutdown(func() { close(down) })
	}
	return down
}
