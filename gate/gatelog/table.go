package gatelog

import (
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcgate/rpcgate/gate/internal/clean"
	"github.com/rpcgate/rpcgate/gate/internal/era"
)

// otherRoute is the row of all routes that have no row of their own.
const otherRoute = "_OTHER"

// gateLog is what a Logger knows about a gate. It is given up after an interval
// without an event at the gate.
type gateLog struct {
	name    string
	rows    atomic.Pointer[map[string]*row] // by route; replaced, never changed
	details atomic.Int64                    // lines of detail in this interval, without those of bursts

	burstLeft atomic.Int64 // lines that the burst may still write

	mu            sync.Mutex // guards what follows
	era           era.Era    // of the times below
	rejected      bool       // there was a rejection
	lastRejection time.Duration
	burstEnd      time.Duration
	detail        *Detail // of the last rejection
}

// grow returns the row of a route, with its gate, and makes what is missing. It
// replaces the maps by larger ones, so that reading them takes no lock.
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
	route = strings.Clone(route) // it may be a part of something large
	r := &row{gate: g.name, route: clean.String(route)}
	rows = maps.Clone(rows)
	rows[route] = r
	g.rows.Store(&rows)
	return g, r
}

// take returns the counts of all rows that have any, and sets them to zero. It
// gives up the gates without an event in the interval, and where a gate has no room
// left its rows without one.
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

// giveUp gives up the rows without an event in the interval just taken, and returns
// the others.
func giveUp(rows map[string]*row) map[string]*row {
	kept := make(map[string]*row, len(rows))
	for route, r := range rows {
		if !r.giveUp() {
			kept[route] = r
		}
	}
	return kept
}
