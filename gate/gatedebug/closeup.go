package gatedebug

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/gate/internal/clean"
)

// maxHolders is how many holders a close-up shows, the oldest first.
const maxHolders = 50

// closeUp is a gate in detail. A viewer that opens the gate gets a full one. After
// that it gets close-ups with only the new part of History, Minutes and Rejections.
type closeUp struct {
	Gate      int             `json:"gate"`
	Full      bool            `json:"full"`
	T         int64           `json:"t"`
	MaxWaitMs float64         `json:"max_wait_ms"`
	Draining  bool            `json:"draining"`
	Keys      int             `json:"keys"`
	Totals    gate.Totals     `json:"totals"`
	History   json.RawMessage `json:"history"` // arrays of t and numbers

	Routes       []routeRow  `json:"routes"`
	HoldersTotal int         `json:"holders_total"`
	Holders      []holder    `json:"holders"`
	Minutes      []minute    `json:"minutes"`
	Rejections   []rejection `json:"rejections"`
}

// holder is a [gate.Holder] for the page.
type holder struct {
	Route     string `json:"route"`
	RequestID string `json:"request_id"`
	RemoteIP  string `json:"remote_ip"`
	Key       string `json:"key,omitempty"`
	Priority  string `json:"priority"`
	Cost      int64  `json:"cost"`
	AgeMs     int64  `json:"age_ms"`
	Passing   bool   `json:"passing,omitempty"`
}

func (w *watch) newHolder(h *gate.Holder) holder {
	return holder{
		Route: clean.String(h.Route), RequestID: clean.String(h.RequestID),
		RemoteIP: w.config.addresses.Show(h.RemoteIP), Key: w.shown(h.Key, h.KeyHash),
		Priority: h.Priority.String(), Cost: h.Cost, AgeMs: h.Age.Milliseconds(), Passing: h.Passing,
	}
}

// routeRow is a route of a gate in one sample, in the units of numbers.
type routeRow struct {
	Route     string  `json:"route"`
	InFlight  int64   `json:"in_flight"` // units
	Waiting   int     `json:"waiting"`
	SelfWait  int     `json:"self_waiting,omitempty"` // of those, calls whose own context holds the gate
	WaitMean  float64 `json:"waited_ms_mean"`
	WaitMax   float64 `json:"waited_ms_max"`
	Accepted  float64 `json:"accepted_per_s"`
	Rejected  float64 `json:"rejected_per_s"`
	Abandoned float64 `json:"abandoned_per_s"`
}

// takeRoutes returns the routes with the counts since its last call, which was
// elapsed ago.
func (w *watch) takeRoutes(elapsed time.Duration) []routeRow {
	w.mu.Lock()
	defer w.mu.Unlock()
	rows := make([]routeRow, 0, len(w.routes.all))
	w.routes.take(func(r route) {
		row := routeRow{Route: r.name}
		if elapsed > 0 {
			row.Accepted = perSecond(r.accepted, elapsed)
			row.Rejected = perSecond(r.rejected, elapsed)
			row.Abandoned = perSecond(r.abandoned, elapsed)
		}
		if n := r.accepted + r.rejected; n > 0 {
			row.WaitMean, row.WaitMax = ms(r.waits.sum/time.Duration(n)), ms(r.waits.longest)
		}
		rows = append(rows, row)
	})
	return rows
}

// withCalls adds the units in flight and the waiting calls to a copy of the rows,
// sorted by route.
func (w *watch) withCalls(rows []routeRow, holders []gate.Holder, waiters []gate.Waiter) []routeRow {
	rows = slices.Clone(rows)
	index := make(map[string]int, len(rows))
	for i, r := range rows {
		index[r.Route] = i
	}
	w.mu.Lock()
	at := func(call *gate.Call) *routeRow {
		name := w.routes.find(call).name
		i, ok := index[name]
		if !ok {
			i = len(rows)
			index[name] = i
			rows = append(rows, routeRow{Route: name})
		}
		return &rows[i]
	}
	for i := range holders {
		at(&holders[i].Call).InFlight += holders[i].Cost
	}
	for i := range waiters {
		row := at(&waiters[i].Call)
		row.Waiting++
		if waiters[i].SelfWait {
			row.SelfWait++
		}
	}
	w.mu.Unlock()
	slices.SortFunc(rows, func(a, b routeRow) int { return strings.Compare(a.Route, b.Route) })
	return rows
}

// closeUpMessageLocked makes the message with a close-up of a gate.
func (h *hub) closeUpMessageLocked(w *watch, now time.Time, full bool) []byte {
	g := &h.gates[w.index]
	s := w.gate.Snapshot()
	m := closeUp{
		Gate: w.index, Full: full, T: now.UnixMilli(),
		MaxWaitMs: ms(s.MaxWait), Draining: s.Draining, Keys: s.Keys, Totals: s.Totals,
		Routes:       w.withCalls(g.routes, s.Holders, w.gate.Waiters()),
		HoldersTotal: len(s.Holders),
	}
	back := window
	minutesBack, seq := int64(1), g.seq
	if full {
		minutesBack, seq = minutes-1, 0
	} else {
		back = 0 // only the newest sample
	}
	m.History = g.history.append(nil, now, back)
	for i := range s.Holders[:min(len(s.Holders), maxHolders)] {
		m.Holders = append(m.Holders, w.newHolder(&s.Holders[i]))
	}
	w.mu.Lock()
	m.Minutes = w.hour.list(now, minutesBack)
	m.Rejections = w.rejections.after(seq)
	if !full {
		g.seq = w.rejections.seq
	}
	w.mu.Unlock()
	if full {
		return frame("gate", mustMarshal(m))
	}
	return frame("update", mustMarshal(m))
}
