package stress

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

// enter counts a call into gates, and checks that there was room.
func (w *world) enter(call gate.Call, into set) (leave func()) {
	cost, key := max(call.Cost, 1), map[string]int{"": 0, "ann": 1, "bob": 2, "eve": 3}[call.Key]
	at := w.in(into)
	for _, g := range at {
		if n := g.inside.Add(g.units(cost)); g.most > 0 && n > g.most {
			w.problem("gate %s: %d inside, want at most %d", g.Name(), n, g.most)
		}
		if n := g.byKey[key].Add(1); g.keyCap > 0 && n > g.keyCap {
			w.problem("gate %s: %d calls of key %q inside, want at most %d", g.Name(), n, call.Key, g.keyCap)
		}
	}
	return func() {
		for _, g := range at {
			g.inside.Add(-g.units(cost))
			g.byKey[key].Add(-1)
		}
	}
}

// units is what a call of that cost takes of a gate.
func (g *watched) units(cost int64) int64 {
	if g.most == 0 {
		return cost
	}
	return min(cost, g.most)
}

// pause is the work of a call.
func pause(r *rand.Rand, lease gate.Lease) {
	switch r.IntN(64) {
	case 0:
		<-time.After(3 * time.Millisecond) // too long
		return
	case 1:
		select {
		case <-lease.Draining():
		case <-time.After(time.Millisecond):
		}
		return
	}
	switch r.IntN(4) {
	case 0:
	case 1:
		runtime.Gosched()
	case 2:
		for range r.IntN(2000) {
			_ = r.Uint64()
		}
	default:
		<-time.After(time.Duration(r.IntN(200)) * time.Microsecond)
	}
}

// messages is a stream that has a lease for each message, while its handler calls on.
func (w *world) messages(ctx context.Context, r *rand.Rand) {
	ctx, cancel := hurry(ctx, r)
	defer cancel()
	var now atomic.Pointer[gate.Lease]
	now.Store(&gate.Lease{})
	call := w.draw(r)
	handler := gate.NewMessagesContext(ctx, func() gate.Lease { return *now.Load() }, w.policy, &call)
	calls := []gate.Call{w.draw(r), w.draw(r), w.draw(r)}
	w.late.Go(func() {
		for _, call := range calls {
			w.callOn(handler, call)
		}
	})
	for range calls {
		message := call
		message.RequestID = w.draw(r).RequestID
		w.message(ctx, r, message, &now)
	}
}

func (w *world) message(ctx context.Context, r *rand.Rand, call gate.Call, now *atomic.Pointer[gate.Lease]) {
	lease, err := gate.Enter(ctx, w.policy, &call)
	if err != nil {
		w.count(err)
		return
	}
	defer lease.Release()
	now.Store(&lease)
	pause(r, lease)
}
