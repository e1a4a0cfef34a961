// Package gatehealth says whether gates are degraded: draining, rejecting calls, or
// full. It is for health checks that must not restart a server for being busy:
//
//	health := gatehealth.New(db, reports)
//	if health.Degraded() { … }
//
// The same answer is there for each kind of server: over HTTP by gatedebug.Health, for
// grpc-go by package interceptor/grpcgate/grpchealth, and for Connect by
// interceptor/connectgate/connecthealth.
package gatehealth

import (
	"strings"
	"time"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/gate/internal/distinct"
	"github.com/rpcgate/rpcgate/gate/internal/era"
)

// The values of [Status.Status].
const (
	OK       = "ok"
	Degraded = "degraded"
)

// The values of [Status.Reason].
const (
	ReasonDraining  = "draining"  // the gate admits no more calls
	ReasonRejecting = "rejecting" // the gate rejected a call in the last 5 seconds
	ReasonFull      = "full"      // the gate is at its limit and calls are waiting
)

// Recently is how long a gate counts as rejecting after a rejection.
const Recently = 5 * time.Second

// Status is the health of one gate.
type Status struct {
	Name     string `json:"name"`
	Status   string `json:"status"`           // OK or Degraded
	Reason   string `json:"reason,omitempty"` // why it is degraded; the first that applies
	InFlight int64  `json:"in_flight"`
	Limit    int64  `json:"limit"`
	Waiting  int    `json:"waiting"`
	Draining bool   `json:"draining"`
	DryRun   bool   `json:"dry_run"`
}

// Health watches gates. It is safe for concurrent use.
//
// A gate in a dry run is never degraded: it refuses no call and lets none wait. Neither
// is one that rejects calls only with [gate.ReasonKeyLimit]: it has room for others.
type Health struct{ gates []watched }

// New returns a Health for the gates. One that is given twice counts once. It makes a
// rejection read the clock, and costs an admitted call nothing. New panics if a gate is
// nil or two gates have the same name.
func New(gates ...*gate.Gate) *Health {
	each, err := distinct.Gates("New", gates)
	if err != nil {
		panic("gatehealth: " + strings.ReplaceAll(err.Error(), "\n", "\ngatehealth: "))
	}
	h := &Health{}
	for _, g := range each {
		w := watched{g, &lastRejection{clock: era.NewClock()}}
		g.Observe(w.rejection)
		h.gates = append(h.gates, w)
	}
	return h
}

// Degraded reports whether any of the gates is degraded.
func (h *Health) Degraded() bool {
	for _, w := range h.gates {
		if w.status().Status != OK {
			return true
		}
	}
	return false
}

// Gates returns the health of each gate, in the order in which they were given.
func (h *Health) Gates() []Status {
	all := make([]Status, len(h.gates))
	for i, w := range h.gates {
		all[i] = w.status()
	}
	return all
}
