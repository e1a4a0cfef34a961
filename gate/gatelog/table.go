package gatelog

import (
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcgate/rpcgate/gate/internal/clean"
)

// otherRoute is the row of the routes that have none of their own.
const otherRoute = "_OTHER"

// gateLog is what a Logger keeps of a gate. It is given up when the gate had no
// event for an interval.
type gateLog struct {
	name    string
	rows    atomic.Pointer[map[string]*row] // by route; replaced, never changed
	details atomic.Int64                    // lines of detail in this interval, those of bursts apart

	burstLeft atomic.Int64 // lines that the burst may still write

	mu            sync.Mutex // guards what follows
	rejected      bool       // there was a rejection, the last one at:
	lastRejection time.Duration
	burstEnd      time.Duration
}

// grow returns the row of a route, and its gate, that count did not find. The
// maps are replaced by larger ones, so that nobody needs a lock to read them.
func (l *Logger) grow(gateName, route string) (*gateLog, *row) {
	l.mu.Lock()
	defer l.mu.Unlock()
	gates := *l.gates.Load()
	g := gates[gateName]
	if g == nil {
		g = &gateLog{name: gateName}
		g.rows.Store(&map[string]*row{})
		gates = maps.Clone(gates)
		gates[gateName] = g
		l.gates.Store(&gates)
	}
	rows := *g.rows.Load()
	if r := rows[route]; r != nil {
		return g, r
	}
	own := len(rows)
	if rows[otherRoute] != nil {
		own--
	}
	if own >= l.config.maxRoutes {
		route = otherRoute
		if r := rows[route]; r != nil {
			return g, r
		}
	}
	route = strings.Clone(route) // which may be a part of something large
	r := &row{gate: g.name, route: clean.String(route)}
	rows = maps.Clone(rows)
	rows[route] = r
	g.rows.Store(&rows)
	return g, r
}

// take returns the counts of all rows with a call and starts them anew. Gates
// without any are given up, and so are rows without any of gates that have no
// room left.
func (l *Logger) take() []counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []counts
	gates := *l.gates.Load()
	kept := gates
	for name, g := range gates {
		rows := *g.rows.Load()
		had := len(all)
		for _, r := range rows {
			if c, ok := r.take(); ok {
				all = append(all, c)
			}
		}
		g.details.Store(0)
		idle := len(all) == had
		if idle || len(rows) >= l.config.maxRoutes {
			rows = giveUp(rows)
			g.rows.Store(&rows)
		}
		if idle && len(rows) == 0 {
			if len(kept) == len(gates) {
				kept = maps.Clone(gates)
			}
			delete(kept, name)
		}
	}
	l.gates.Store(&kept)
	return all
}

// giveUp returns the rows without those that had no call in the interval that has
// just been taken.
func giveUp(rows map[string]*row) map[string]*row {
	kept := make(map[string]*row, len(rows))
	for route, r := range rows {
		if !r.giveUp() {
			kept[route] = r
		}
	}
	return kept
}
