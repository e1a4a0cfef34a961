package gatedebug

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/rpcgate/rpcgate/gate/internal/era"
)

const (
	// writeTimeout is how long a viewer may take to read a message.
	writeTimeout = 10 * time.Second
	// retryTooMany is when a viewer should try again that cannot join, in
	// seconds.
	retryTooMany = 10
)

// serveEvents streams events until the viewer leaves, gives way to a later one, or the
// server shuts down. The query may name the gate to open, with gate=…. With if=room, a
// viewer for which there is no room gets the first messages only, and nobody gives way
// to it.
func (p *page) serveEvents(w http.ResponseWriter, r *http.Request) {
	var err error
	if r.Method == http.MethodHead {
		w.Header().Set("Content-Type", "text/event-stream")
		err = p.hub.refuse()
	} else {
		err = p.stream(w, r)
	}
	if err != nil {
		w.Header().Set("Retry-After", strconv.Itoa(retryTooMany))
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	}
}

// stream adds a viewer and sends it the events. If it returns an error, it has written
// nothing.
func (p *page) stream(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	v, err := p.hub.join(query.Get("gate"), query.Get("if") == "room")
	if err != nil {
		return err
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
			return nil
		}
		if err := c.Flush(); err != nil {
			return nil
		}
		var ok bool
		select {
		case message, ok = <-v.messages:
			if !ok {
				return nil
			}
		case <-down:
			return nil
		case <-r.Context().Done():
			return nil
		}
	}
}

// refuse returns an error if no viewer may join now.
func (h *hub) refuse() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.refuseLocked(era.Of(time.Now()))
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
