package rollout

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"
)

// deadline is that of each call.
const deadline = 5 * time.Second

// outcome counts how calls ended.
type outcome struct {
	mu       sync.Mutex
	answered int
	lost     map[string]int // by the error
	slowest  time.Duration
}

// call makes a call and counts it.
func (o *outcome) call(call func(context.Context, time.Duration) error, long time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	start := time.Now()
	err := call(ctx, long)
	o.mu.Lock()
	defer o.mu.Unlock()
	if err == nil {
		o.answered++
		o.slowest = max(o.slowest, time.Since(start))
		return
	}
	if o.lost == nil {
		o.lost = map[string]int{}
	}
	o.lost[err.Error()]++
}

func (o *outcome) String() string {
	lost := 0
	for _, n := range o.lost {
		lost += n
	}
	return fmt.Sprintf("%d answered, the slowest after %s, %d lost %v", o.answered, o.slowest, lost, o.lost)
}

// clients is how many make calls at a time.
const clients = 8

// underLoad does something while clients make calls, from a second before it to a second after it. None of them is at
// rest for longer than 40 ms, so each has a connection in use most of the time.
func underLoad(t *testing.T, call func(context.Context, time.Duration) error, do func()) *outcome {
	var o outcome
	var all sync.WaitGroup
	end := make(chan struct{})
	for i := range clients {
		all.Go(func() {
			rest := time.Duration(5*i)*time.Millisecond + 777*time.Microsecond
			for {
				select {
				case <-end:
					return
				case <-time.After(rest):
				}
				o.call(call, 10*time.Millisecond)
			}
		})
	}
	time.Sleep(time.Second)
	do()
	time.Sleep(time.Second)
	close(end)
	all.Wait()
	t.Log(&o)
	return &o
}
