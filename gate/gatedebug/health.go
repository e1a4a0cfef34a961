package gatedebug

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/gate/internal/era"
)

// The values of status in the responses of [Health].
const (
	StatusOK       = "ok"
	StatusDegraded = "degraded"
)

// Health returns a handler for health checks. It answers GET and HEAD with
//
//	{"status":"degraded","gates":[{"name":"orders-db","status":"degraded",
//	 "reason":"rejecting","in_flight":16,"limit":16,"waiting":9,
//	 "draining":false,"dry_run":false}]}
//
// The code is always 200: a server must not be restarted because it is busy.
// Mount the handler outside of any gate.
//
// The status is degraded if the status of any gate is. A gate is degraded for one
// of these reasons, the first that applies:
//
//   - draining: the gate admits no more calls.
//   - rejecting: the gate rejected a call in the last 5 seconds. Rejections with
//     [gate.ReasonKeyLimit] do not count.
//   - full: the gate is at its limit and calls are waiting.
//
// A gate in a dry run is always ok: it refuses no call and lets none wait.
//
// A check reads a few counters of each gate. Health makes a rejection read the
// clock, and costs an admitted call nothing. A gate that is given twice is listed
// once. Health panics if a gate is nil or two gates have the same name.
func Health(gates ...*gate.Gate) http.Handler {
	gates, err := distinct("Health", gates)
	must(err)
	h := &health{}
	for _, g := range gates {
		r := &lastRejection{clock: era.NewClock()}
		g.Observe(r)
		h.gates = append(h.gates, watched{g, r})
	}
	return h
}

type health struct {
	gates []watched
}

type watched struct {
	*gate.Gate
	rejection *lastRejection
}

// lastRejection is an observer that remembers when a call was last rejected.
type lastRejection struct {
	clock era.Clock
	at    atomic.Int64  // nanoseconds on the clock, plus one; 0 if there was no rejection
	era   atomic.Uint64 // of at
}

func (*lastRejection) Interest(context.Context) gate.Interest {
	return gate.ObserveTrouble | gate.ObserveFixed
}

func (l *lastRejection) OnEvent(_ context.Context, e gate.Event) {
	if e.Decision.Rejected() && !e.DryRun && e.Reason != gate.ReasonKeyLimit {
		now, e := l.clock.Now()
		l.at.Store(int64(now) + 1)
		l.era.Store(uint64(e))
	}
}

// recent reports whether the rejection was in the last 5 seconds.
func (l *lastRejection) recent() bool {
	at := l.at.Load()
	if at == 0 {
		return false
	}
	now, e := l.clock.Now()
	return e == era.Era(l.era.Load()) && now-time.Duration(at-1) <= recently
}

type healthAnswer struct {
	Status string       `json:"status"`
	Gates  []gateHealth `json:"gates"`
}

type gateHealth struct {
	Name     string `json:"name"`
	Status   string `json:"status"`
	Reason   string `json:"reason,omitempty"`
	InFlight int64  `json:"in_flight"`
	Limit    int64  `json:"limit"`
	Waiting  int    `json:"waiting"`
	Draining bool   `json:"draining"`
	DryRun   bool   `json:"dry_run"`
}

// ServeHTTP answers a health check.
func (h *health) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		notAllowed(w, "GET, HEAD")
		return
	}
	a := healthAnswer{Status: StatusOK, Gates: make([]gateHealth, len(h.gates))}
	for i, g := range h.gates {
		a.Gates[i] = g.health()
		if a.Gates[i].Status != StatusOK {
			a.Status = StatusDegraded
		}
	}
	header.Set("Content-Type", "application/json")
	send(w, r, append(mustMarshal(a), '\n'))
}

func (g watched) health() gateHealth {
	s := g.Overview()
	h := gateHealth{
		Name: s.Name, Status: StatusDegraded,
		InFlight: s.InFlight, Limit: s.Limit, Waiting: s.Waiting, Draining: s.Draining, DryRun: s.DryRun,
	}
	switch {
	case s.DryRun:
		h.Status = StatusOK
	case s.Draining:
		h.Reason = "draining"
	case g.rejection.recent():
		h.Reason = "rejecting"
	case s.InFlight >= s.Limit && s.Waiting > 0:
		h.Reason = "full"
	default:
		h.Status = StatusOK
	}
	return h
}
