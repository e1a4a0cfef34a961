package gate

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestReasonOfACallThatMayNotWait has a full gate, and what a chain leaves of a call's wait.
func TestReasonOfACallThatMayNotWait(t *testing.T) {
	for _, test := range []struct {
		maxWait time.Duration
		wait    wait
		want    Reason
	}{
		{time.Second, wait{}, ReasonLimit},
		{time.Second, wait{most: 0, spent: 1}, ReasonWaitTimeout},
		{time.Second, wait{most: -1, spent: 2}, ReasonWaitTimeout},
		{time.Second, wait{most: -1}, ReasonLimit},
		{0, wait{most: 0, spent: 1}, ReasonLimit},
		{0, wait{most: time.Second, spent: 1}, ReasonLimit},
	} {
		g := Must(New("db", 1, WithMaxWait(test.maxWait)))
		defer g.mustTry(t).Release()
		_, err := g.acquire(t.Context(), &Call{}, test.wait)
		if r, ok := errors.AsType[*Rejection](err); !ok || r.Reason != test.want {
			t.Errorf("max wait %s, %+v: got %v, want a rejection for %s", test.maxWait, test.wait, err, test.want)
		}
	}
}

// atOnce is a context whose deadline is now, and that has not ended yet: a host may not use a timer for it.
type atOnce struct{ context.Context }

func (atOnce) Deadline() (time.Time, bool) { return time.Now(), true }

func TestACallWhoseDeadlineIsNowIsLateAndNotRejected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := Must(New("db", 1))
		defer g.mustTry(t).Release()
		if _, err := g.Acquire(atOnce{t.Context()}, Call{}); err != context.DeadlineExceeded { //nolint:errorlint // itself
			t.Errorf("got %v, want context.DeadlineExceeded", err)
		}
		if got := g.Snapshot().Totals; got.Abandoned != 1 || got.RejectedBusy != 0 {
			t.Errorf("totals %+v, want one call abandoned", got)
		}
	})
}
