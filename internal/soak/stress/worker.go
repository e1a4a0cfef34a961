package stress

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"strconv"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

// work calls, again and again, as callers do who are in a hurry. An observer may end the goroutine of a call.
func (w *world) work(ctx context.Context, r *rand.Rand) {
	for ctx.Err() == nil {
		done := make(chan struct{})
		go func() {
			defer close(done)
			for ctx.Err() == nil {
				w.once(ctx, r)
			}
		}()
		<-done
	}
}

func (w *world) once(ctx context.Context, r *rand.Rand) {
	switch r.IntN(32) {
	case 0, 1:
		w.do(r)
	case 2:
		w.goOn(ctx, r)
	case 3:
		w.messages(ctx, r)
	default:
		w.call(ctx, r, 0, 0)
	}
}

// draw draws a call.
func (w *world) draw(r *rand.Rand) gate.Call {
	call := gate.Call{
		Route:     w.routes[r.IntN(len(w.routes))],
		RequestID: strconv.FormatUint(w.calls.Add(1), 10),
		Key:       []string{"", "ann", "bob", "eve"}[r.IntN(4)],
		Priority:  gate.Priority(r.IntN(3) - 1),
	}
	if w.needs[call.Route]&(keyed|moving|dry) == 0 { // where what a call takes is known
		call.Cost = []int64{1, 1, 1, 2, 3, math.MaxInt64}[r.IntN(6)]
	}
	return call
}

// hurry returns the context of a caller that may leave at any time.
func hurry(ctx context.Context, r *rand.Rand) (context.Context, context.CancelFunc) {
	switch r.IntN(4) {
	case 0:
		return context.WithTimeout(context.WithoutCancel(ctx), time.Duration(r.IntN(5000))*time.Microsecond)
	case 1:
		ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		timer := time.AfterFunc(time.Duration(r.IntN(1500))*time.Microsecond, cancel)
		return ctx, func() { timer.Stop(); cancel() }
	default:
		return context.WithCancel(ctx)
	}
}

// call goes through the policy, and calls again while it holds its lease. held are the gates that ctx holds already.
func (w *world) call(ctx context.Context, r *rand.Rand, held set, depth int) {
	ctx, cancel := hurry(ctx, r)
	defer cancel()
	call := w.draw(r)
	lease, err := gate.Enter(ctx, w.policy, &call)
	if err != nil {
		w.count(err)
		return
	}
	missing := w.needs[call.Route] &^ held
	if (lease == gate.Lease{}) != (missing == 0) {
		w.problem("call of %s that holds %b: lease %+v", call.Route, held, lease)
	}
	if missing == 0 {
		w.passed.Add(1)
		return
	}
	defer w.release(r, lease)
	defer w.enter(call, missing)()
	w.admitted.Add(1)
	ctx = gate.NewContext(ctx, lease, w.policy, &call)
	if !gate.Covers(ctx, w.policy, call.Route) {
		w.problem("call of %s is not covered by its own lease", call.Route)
	}
	if depth < 3 && r.IntN(3) == 0 {
		w.call(ctx, r, held|missing, depth+1)
	}
	pause(r, lease)
}

func (w *world) release(r *rand.Rand, lease gate.Lease) {
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
func (w *world) do(r *rand.Rand) {
	call := w.draw(r)
	call.Route = "/plain"
	call.Cost = r.Int64N(4)
	how := r.IntN(3)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { _ = recover() }()
		err := w.gates[0].Do(context.Background(), call, func(context.Context) error {
			w.admitted.Add(1)
			defer w.enter(call, plain)()
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

// goOn is a handler that releases its lease and calls on, on several goroutines. What it holds when is not known.
func (w *world) goOn(ctx context.Context, r *rand.Rand) {
	ctx, cancel := hurry(ctx, r)
	defer cancel()
	call := w.draw(r)
	lease, err := gate.Enter(ctx, w.policy, &call)
	if err != nil {
		w.count(err)
		return
	}
	defer lease.Release()
	ctx = gate.NewContext(ctx, lease, w.policy, &call)
	w.late.Go(func() {
		own, _ := gate.LeaseFromContext(ctx)
		own.Release()
	})
	w.callOn(ctx, w.draw(r))
	lease.Gate()
	w.late.Go(func() { gate.Covers(ctx, w.policy, call.Route) })
}

func (w *world) callOn(ctx context.Context, call gate.Call) {
	lease, err := gate.Enter(ctx, w.policy, &call)
	defer lease.Release()
	if err != nil {
		w.count(err)
	}
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
