package rush

import (
	"sync"
	"time"

	"google.golang.org/grpc/codes"
)

// tally counts how calls ended.
type tally struct {
	mu       sync.Mutex
	offered  int
	late     int
	rejected int
	failed   int
	retried  int
	failure  error           // of the first call that failed
	answers  []time.Duration // of calls answered in time: the attempt that was answered
	calls    []time.Duration // of the same calls: from the first attempt to the answer, with all pauses
}

// add counts a call that ended with err. took is its time from the first attempt to the end.
func (t *tally) add(a *attempts, took, deadline time.Duration, err error) {
	count, last := a.result()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.offered++
	t.retried += max(count-1, 0)
	code := codes.OK
	if err != nil {
		code = codeOf(err)
	}
	switch {
	case code == codes.OK && took <= deadline:
		t.answers = append(t.answers, last)
		t.calls = append(t.calls, took)
	case code == codes.OK || code == codes.DeadlineExceeded:
		t.late++
	case code == codes.ResourceExhausted || code == codes.Unavailable:
		t.rejected++
	default:
		t.failed++
		if t.failure == nil {
			t.failure = err
		}
	}
}
