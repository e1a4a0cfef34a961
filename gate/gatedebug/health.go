package gatedebug

import (
	"net/http"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/gate/gatehealth"
	"github.com/rpcgate/rpcgate/gate/internal/distinct"
)

// The values of status in the responses of [Health].
const (
	StatusOK       = gatehealth.OK
	StatusDegraded = gatehealth.Degraded
)

// Health returns a handler for health checks. It answers GET and HEAD with
//
//	{"status":"degraded","gates":[{"name":"orders-db","status":"degraded",
//	 "reason":"rejecting","in_flight":16,"limit":16,"waiting":9,
//	 "draining":false,"dry_run":false}]}
//
// The code is always 200: a server must not be restarted because it is busy.
// Mount the handler outside of any gate. Package gatehealth gives the same answer to
// other kinds of servers.
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
	_, err := distinct.Gates("Health", gates)
	must(err) // in this package's name
	return health{gatehealth.New(gates...)}
}

type health struct{ *gatehealth.Health }

type healthAnswer struct {
	Status string              `json:"status"`
	Gates  []gatehealth.Status `json:"gates"`
}

// ServeHTTP answers a health check.
func (h health) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		notAllowed(w, "GET, HEAD")
		return
	}
	a := healthAnswer{Status: StatusOK, Gates: h.Gates()}
	for _, g := range a.Gates {
		if g.Status != StatusOK {
			a.Status = StatusDegraded
		}
	}
	header.Set("Content-Type", "application/json")
	send(w, r, append(mustMarshal(a), '\n'))
}
