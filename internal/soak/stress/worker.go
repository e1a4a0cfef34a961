package stress

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

// work calls, again and again, as callers do who are in a hurry.
func (w *world) work(ctx context.Context, r *rand.Rand) {
	for ctx.Err() == nil {
		call := gate.Call{
			Route:    w.routes[r.IntN(len(w.routes))],
			Key:      []string{"", "ann", "bob", "eve"}[r.IntN(4)],
			Priority: gate.Priority(r.IntN(3) - 1),
		}
		if call.Route == "/plain" || call.Route == "/wide" { // where what a call takes is known
			call.Cost = []int64{1, 1, 1, 2, 3, math.MaxInt64}[r.IntN(6)]
		}
		if call.Route == "/plain" && r.IntN(4) == 0 {
			w.do(r, call)
			continue
		}
		w.call(ctx, r, call)
	}
}

// call goes through the policy, with a caller that may leave at any time.
func (w *world) call(ctx context.Context, r *rand.Rand, call gate.Call) {
	var cancel context.CancelFunc
	switch r.IntN(4) {
	case 0:
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), time.Duration(r.IntN(5000))*time.Microsecond)
	case 1:
		ctx, cancel = context.WithCancel(context.WithoutCancel(ctx))
		timer := time.AfterFunc(time.Duration(r.IntN(1500))*time.Microsecond, cancel)
		defer timer.Stop()
	default:
		ctx, cancel = context.WithCancel(ctx)
	}
	defer cancel()
	lease, err := w.policy.Acquire(ctx, call)
	if err != nil {
		w.count(err)
		return
	}
	w.admitted.Add(1)
	leave := w.enter(call)
	pause(r)
	leave()
	switch r.IntN(8) {
	case 0:
		lease.Release()
		lease.Release()
	case 1: // by somebody else, maybe twice at the same time
		w.late.Go(lease.Release)
		w.late.Go(lease.Release)
	default:
		lease.Release()
	}
}

// do runs a handler that returns, panics or ends its goroutine.
func (w *world) do(r *rand.Rand, call gate.Call) {
	how := r.IntN(3)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { _ = recover() }()
		err := w.gates[0].Do(context.Background(), call, func(context.Context) error {
			w.admitted.Add(1)
			defer w.enter(call)()
			switch how {
			case 0:
				panic("a handler's panic")
			case 1:
				runtime.Goexit()
			}
			return nil
		})
		if err != nil {
			w.count(err)
		}
	}()
	<-done
}

func (w *world) count(err error) {
	var rejection *gate.Rejection
	switch {
	case errors.As(err, &rejection):
		w.rejected.Add(1)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		w.abandoned.Add(1)
	default:
		w.problem("error %v", err)
	}
}

// enter counts a call into the gates of its route, and checks that there was room.
func (w *world) enter(call gate.Call) (leave func()) {
	var at []*watched
	switch call.Route {
	case "/chain":
		at = []*watched{w.gates[0], w.gates[1]}
	case "/all":
		at = w.gates
	default:
		for _, g := range w.gates {
			if call.Route == "/"+g.Name() {
				at = []*watched{g}
			}
		}
	}
	cost := max(call.Cost, 1)
	if call.Route == "/wide" && call.Cost == 0 {
		cost = 2 // of its rule
	}
	key := map[string]int{"": 0, "ann": 1, "bob": 2, "eve": 3}[call.Key]
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
func pause(r *rand.Rand) {
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
