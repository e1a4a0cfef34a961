package gate_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

func BenchmarkAcquireRelease(b *testing.B) {
	g := gate.Must(gate.New("bench", 1000))
	ctx := context.Background()
	once := func() {
		lease, err := g.Acquire(ctx, gate.Call{})
		if err != nil {
			b.Error(err)
		}
		lease.Release()
	}
	b.Run("Serial", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			once()
		}
	})
	b.Run("Parallel", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				once()
			}
		})
	})
}

// BenchmarkHandOff has 64 callers, of whom all but a few wait at any time.
func BenchmarkHandOff(b *testing.B) {
	const callers = 64
	for _, limit := range []int64{1, 4} {
		b.Run(fmt.Sprintf("Limit%d", limit), func(b *testing.B) {
			g := gate.Must(gate.New("bench", limit, gate.WithMaxWait(time.Minute), gate.WithMaxWaiting(callers)))
			b.ReportAllocs()
			var all sync.WaitGroup
			for range callers {
				all.Go(func() {
					for range (b.N + callers - 1) / callers {
						lease, err := g.Acquire(context.Background(), gate.Call{})
						if err != nil {
							b.Error(err)
						}
						runtime.Gosched()
						lease.Release()
					}
				})
			}
			all.Wait()
		})
	}
}
