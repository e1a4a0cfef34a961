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

// room is more than any of the goroutines here take.
const room = 1000

// freeCases take a place that is free and give it back.
func freeCases() []measure.Case {
	return slices.Concat(floorCases(), gateCases(), semaphoreCases(), peerFreeCases())
}

// floorCases are what the hardware takes at least.
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
	floorMutex = "floor: mutex, counter up, counter down"
	gateFree   = "rpcgate Acquire"
	xsyncFree  = "x/sync Acquire"
)

func gateCases() []measure.Case {
	plain := newGate(room)
	routed := must(gate.NewPolicy(gate.Route("/orders.v1.OrderService/ListOpen", newGate(room))))
	var seen atomic.Int64
	watched := newGate(room, gate.WithOnEvent(func(context.Context, gate.Event) { seen.Add(1) }))
	call := gate.Call{Route: "/orders.v1.OrderService/ListOpen"}
	ctx := context.Background()
	nothing := func(context.Context) error { return nil }
	return []measure.Case{
		{Name: gateFree, Run: func(n int) {
			for range n {
				lease, err := plain.Acquire(ctx, call)
				check(err)
				lease.Release()
			}
		}},
		{Name: "rpcgate TryAcquire", Run: func(n int) {
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
		{Name: "rpcgate Acquire, through a policy", Run: func(n int) {
			for range n {
				lease, err := routed.Acquire(ctx, call)
				check(err)
				lease.Release()
			}
		}},
		{Name: "rpcgate Acquire, with an event hook", Run: func(n int) {
			for range n {
				lease, err := watched.Acquire(ctx, call)
				check(err)
				lease.Release()
			}
		}},
	}
}

// semaphoreCases are those of golang.org/x/sync and of a channel.
func semaphoreCases() []measure.Case {
	sem := semaphore.NewWeighted(room)
	places := make(chan struct{}, room)
	ctx := context.Background()
	return []measure.Case{
		{Name: xsyncFree, Run: func(n int) {
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
				case places <- struct{}{}:
				default:
					panic("no room")
				}
				<-places
			}
		}},
		{Name: "channel, select with a timer", Run: func(n int) {
			for range n {
				timer := time.NewTimer(time.Second)
				select {
				case places <- struct{}{}:
				case <-timer.C:
					panic("no room")
				case <-ctx.Done():
					panic("no caller")
				}
				timer.Stop()
				<-places
			}
		}},
	}
}
