package micro

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/internal/bench/measure"
)

// room is more units than the goroutines here ever hold.
const room = 1000

// freeCases acquire a unit that is free and release it.
func freeCases() []measure.Case {
	return slices.Concat(floorCases(), gateCases(), semaphoreCases(), peerFreeCases())
}

// floorCases are the least that a limit with a lock, or without, can do: two locked changes of a counter, or two atomic
// ones.
func floorCases() []measure.Case {
	var mu sync.Mutex
	var locked int64
	var swapped atomic.Int64
	return []measure.Case{
		{Name: floorMutex, Run: func(n int) {
			for range n {
				mu.Lock()
				locked++
				mu.Unlock()
				mu.Lock()
				locked--
				mu.Unlock()
			}
		}},
		{Name: "floor: compare-and-swap up, add down", Run: func(n int) {
			for range n {
				for {
					held := swapped.Load()
					if held < room && swapped.CompareAndSwap(held, held+1) {
						break
					}
				}
				swapped.Add(-1)
			}
		}},
	}
}

const (
	floorMutex = "floor: mutex, counter up, mutex, counter down"
	gateFree   = "rpcgate Acquire"
	gateTry    = "rpcgate TryAcquire"
	gatePolicy = "rpcgate Acquire, through a policy"
	gateChain  = "rpcgate Acquire, through a chain of two"
)

func gateCases() []measure.Case {
	call := gate.Call{Route: "/orders.v1.OrderService/ListOpen"}
	ctx := context.Background()
	acquires := func(name string, a gate.Admitter) measure.Case { // by a method of an interface, as hosts do
		return measure.Case{Name: name, Run: func(n int) {
			for range n {
				lease, err := a.Acquire(ctx, call)
				check(err)
				lease.Release()
			}
		}}
	}
	plain := newGate(room)
	policy := must(gate.NewPolicy(gate.Route(call.Route, newGate(room))))
	var seen atomic.Int64
	watched := newGate(room, gate.WithOnEvent(func(context.Context, gate.Event) { seen.Add(1) }))
	nothing := func(context.Context) error { return nil }
	return []measure.Case{
		{Name: gateFree, Run: func(n int) {
			for range n {
				lease, err := plain.Acquire(ctx, call)
				check(err)
				lease.Release()
			}
		}},
		{Name: gateTry, Run: func(n int) {
			for range n {
				lease, err := plain.TryAcquire(call)
				check(err)
				lease.Release()
			}
		}},
		{Name: "rpcgate Do", Run: func(n int) {
			for range n {
				check(plain.Do(ctx, call, nothing))
			}
		}},
		{Name: gatePolicy, Run: func(n int) {
			for range n {
				lease, err := policy.Acquire(ctx, call)
				check(err)
				lease.Release()
			}
		}},
		acquires(gateChain, gate.Chain(newGate(room), newGate(room))),
		acquires("rpcgate Acquire, with an event hook", watched),
	}
}

// semaphoreCases are those of golang.org/x/sync and of a channel.
func semaphoreCases() []measure.Case {
	sem := semaphore.NewWeighted(room)
	units := make(chan struct{}, room)
	ctx := context.Background()
	return []measure.Case{
		{Name: "x/sync Acquire", Run: func(n int) {
			for range n {
				check(sem.Acquire(ctx, 1))
				sem.Release(1)
			}
		}},
		{Name: "x/sync TryAcquire", Run: func(n int) {
			for range n {
				if !sem.TryAcquire(1) {
					panic("no room")
				}
				sem.Release(1)
			}
		}},
		{Name: "x/sync Acquire, with WithTimeout", Run: func(n int) {
			for range n {
				limited, cancel := context.WithTimeout(ctx, time.Second)
				check(sem.Acquire(limited, 1))
				sem.Release(1)
				cancel()
			}
		}},
		{Name: "channel, select with default", Run: func(n int) {
			for range n {
				select {
				case units <- struct{}{}:
				default:
					panic("no room")
				}
				<-units
			}
		}},
		{Name: "channel, select with a timer", Run: func(n int) {
			for range n {
				timer := time.NewTimer(time.Second)
				select {
				case units <- struct{}{}:
				case <-timer.C:
					panic("no room")
				case <-ctx.Done():
					panic("no caller")
				}
				timer.Stop()
				<-units
			}
		}},
	}
}
