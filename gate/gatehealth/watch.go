package gatehealth

import (
	"context"
	"fmt"
	"time"
)

// Watch calls f at once, and again whenever the answer of [Health.Degraded] has changed,
// until ctx ends. It asks at each interval, which must be above 0: half a second is
// enough for most health checks. Run it on a goroutine of its own:
//
//	go health.Watch(ctx, time.Second/2, func(degraded bool) { … })
//
// Watch panics if f is nil or the interval is not above 0.
func (h *Health) Watch(ctx context.Context, interval time.Duration, f func(degraded bool)) {
	if f == nil || interval <= 0 {
		panic(fmt.Sprintf("gatehealth: Watch: want a function and an interval above 0, got a function: %t, and %s", f != nil, interval))
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	last := h.Degraded()
	f(last)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if now := h.Degraded(); now != last {
			last = now
			f(now)
		}
	}
}
