package gatehealth

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/gate/internal/era"
)

// watched is a gate whose rejections are noted.
type watched struct {
	*gate.Gate
	rejection *lastRejection
}

// status reads a few counters of the gate.
func (w watched) status() Status {
	o := w.Overview()
	s := Status{
		Name: o.Name, Status: Degraded,
		InFlight: o.InFlight, Limit: o.Limit, Waiting: o.Waiting, Draining: o.Draining, DryRun: o.DryRun,
	}
	switch {
	case o.DryRun:
		s.Status = OK
	case o.Draining:
		s.Reason = ReasonDraining
	case w.rejection.recent():
		s.Reason = ReasonRejecting
	case o.InFlight >= o.Limit && o.Waiting > 0:
		s.Reason = ReasonFull
	default:
		s.Status = OK
	}
	return s
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

func (l *lastRejection) recent() bool {
	at := l.at.Load()
	if at == 0 {
		return false
	}
	now, e := l.clock.Now()
	return e == era.Era(l.era.Load()) && now-time.Duration(at-1) <= Recently
}
