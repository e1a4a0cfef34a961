package gatedebug

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/gate/internal/era"
)

// watch is the observer of one gate. It receives all events while a viewer has the
// gate open, and otherwise only those of [gate.ObserveTrouble].
type watch struct {
	gate   *gate.Gate
	index  int // on the page
	config config
	alarm  func(era.Era) // called for each decision that is trouble
	open   atomic.Int32  // viewers that have the gate open

	mu         sync.Mutex // guards what follows
	era        era.Era    // of all the times
	trouble    trouble
	hour       hour
	rejections rejections
	waits      waits  // since the last sample
	routes     routes // since the last sample, while the gate is open
}

// waits sums up how long accepted and rejected calls waited for the decision.
type waits struct {
	sum, longest time.Duration
}

func (w *waits) add(d time.Duration) {
	w.sum += d
	w.longest = max(w.longest, d)
}

// attach adds a new watch to the gate's observers. keep is how many rejections the
// watch keeps.
func attach(g *gate.Gate, index, keep int, c config, alarm func(era.Era)) *watch {
	w := &watch{gate: g, index: index, config: c, alarm: alarm, rejections: rejections{keep: keep}}
	w.trouble.long = max(g.Snapshot().MaxWait/longWait, 1) // Snapshot also makes the gate read the clock from now on
	g.Observe(w)
	return w
}

func (w *watch) Interest(context.Context) gate.Interest {
	if w.open.Load() > 0 {
		return gate.ObserveAll
	}
	return gate.ObserveTrouble
}

// OnEvent notes a decision. Other events say nothing new: a lease that is held too
// long is in the list of holders, with its age.
func (w *watch) OnEvent(ctx context.Context, e gate.Event) {
	if e.Kind != gate.EventDecision {
		return
	}
	open := w.open.Load() > 0
	hard := e.Decision != gate.Accepted || e.Waited > 0
	if !open && !hard {
		return
	}
	var now time.Time
	var in era.Era
	if hard {
		now = time.Now()
		in = era.Of(now)
	}
	w.mu.Lock()
	if open {
		w.routes.add(&e)
	}
	keep, trouble := false, false
	if hard {
		w.enterLocked(in)
		w.hour.add(now, &e)
		trouble = w.trouble.add(now, &e)
		if e.Decision != gate.Abandoned {
			w.waits.add(e.Waited)
		}
		keep = e.Decision.Rejected() && w.rejections.wants(now)
	}
	w.mu.Unlock()
	if trouble {
		w.alarm(in)
	}
	if keep {
		w.keep(ctx, &e, now)
	}
}

// enterLocked forgets what was seen in another era than now: in each bubble of
// testing/synctest it is the year 2000 again.
func (w *watch) enterLocked(now era.Era) {
	if w.era == now {
		return
	}
	w.era = now
	w.trouble = trouble{long: w.trouble.long}
	w.hour, w.rejections = hour{}, rejections{keep: w.rejections.keep}
}

// inTrouble reports whether the gate was in trouble in an era until a while ago.
func (w *watch) inTrouble(in era.Era, now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.era == in && w.trouble.within(calmAfter, now)
}

// keep adds a rejection to those that are kept. It calls the user's function for
// the trace id without the lock.
func (w *watch) keep(ctx context.Context, e *gate.Event, now time.Time) {
	r := w.newRejection(ctx, e, now)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rejections.add(r)
}

// takeWaits returns the waits since its last call.
func (w *watch) takeWaits() waits {
	w.mu.Lock()
	defer w.mu.Unlock()
	taken := w.waits
	w.waits = waits{}
	return taken
}
