package micro

import (
	"context"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/adaptivelimiter"
	"github.com/failsafe-go/failsafe-go/bulkhead"
	"github.com/go-kratos/aegis/ratelimit"
	"github.com/go-kratos/aegis/ratelimit/bbr"
	"github.com/zeromicro/go-zero/core/load"

	"github.com/rpcgate/rpcgate/internal/bench/measure"
)

// peerFreeCases are the limiters of other projects. Those that look at the CPU are told never to shed because of it:
// a benchmark uses all there is.
func peerFreeCases() []measure.Case {
	ctx := context.Background()
	wall := bulkhead.New[any](room)
	executor := failsafe.With(bulkhead.NewBuilder[any](room).WithMaxWaitTime(time.Second).Build())
	adaptive := adaptivelimiter.NewBuilder[any]().WithLimits(room, room, room).Build()
	shedder := load.NewAdaptiveShedder(load.WithCpuThreshold(neverCPU))
	limiter := bbr.NewLimiter(bbr.WithCPUThreshold(neverCPU))
	nothing := func() error { return nil }
	return []measure.Case{
		{Name: "failsafe bulkhead TryAcquirePermit", Run: func(n int) {
			for range n {
				if !wall.TryAcquirePermit() {
					panic("no room")
				}
				wall.ReleasePermit()
			}
		}},
		{Name: "failsafe bulkhead AcquirePermitWithMaxWait", Run: func(n int) {
			for range n {
				check(wall.AcquirePermitWithMaxWait(ctx, time.Second))
				wall.ReleasePermit()
			}
		}},
		{Name: "failsafe bulkhead, executor", Run: func(n int) {
			for range n {
				check(executor.Run(nothing))
			}
		}},
		{Name: "failsafe adaptive limiter", Run: func(n int) {
			for range n {
				permit, ok := adaptive.TryAcquirePermit()
				if !ok {
					panic("no room")
				}
				permit.Record()
			}
		}},
		{Name: "aegis BBR, CPU trigger off", Run: func(n int) {
			for range n {
				done, err := limiter.Allow()
				check(err)
				done(ratelimit.DoneInfo{})
			}
		}},
		{Name: "go-zero shedder, CPU trigger off", Run: func(n int) {
			for range n {
				promise, err := shedder.Allow()
				check(err)
				promise.Pass()
			}
		}},
	}
}

// Thresholds of the CPU's use in 1/1000, for limiters that only act above one.
const (
	neverCPU  = 1001
	alwaysCPU = 0
)

// fullShedder is a go-zero shedder that refuses as long as nothing that it let in gets done. It logs each refusal; the
// program sends that nowhere.
func fullShedder() load.Shedder {
	shedder := load.NewAdaptiveShedder(load.WithCpuThreshold(alwaysCPU))
	// It looks at the average in flight, which it takes whenever a call ends.
	var promises []load.Promise
	for range 10_000 {
		promise, err := shedder.Allow()
		if err != nil {
			continue
		}
		if promises = append(promises, promise); len(promises) > 1000 {
			promises[0].Fail()
			promises = promises[1:]
		}
	}
	return shedder
}

// fullBBR is the same of aegis.
func fullBBR() *bbr.BBR {
	limiter := bbr.NewLimiter(bbr.WithCPUThreshold(alwaysCPU))
	for range 1000 {
		_, _ = limiter.Allow() // what is let in stays
	}
	return limiter
}
