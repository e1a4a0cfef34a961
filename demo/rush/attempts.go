package rush

import (
	"context"
	"sync"
	"time"
)

// attempts is the record of one call: how often it was sent, and how long the last attempt took. The clients find it in
// the context of the call, because the retries of grpc-go cannot be seen from outside.
type attempts struct {
	mu    sync.Mutex
	count int
	began time.Time
	last  time.Duration
}

type attemptsKey struct{}

// recordAttempts returns a context for a call, and the record that its attempts are counted in.
func recordAttempts(ctx context.Context) (context.Context, *attempts) {
	a := new(attempts)
	return context.WithValue(ctx, attemptsKey{}, a), a
}

// attemptsOf returns the record of the call, or nil if it has none.
func attemptsOf(ctx context.Context) *attempts {
	a, _ := ctx.Value(attemptsKey{}).(*attempts)
	return a
}

func (a *attempts) begin() {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.count++
	a.began = time.Now()
}

func (a *attempts) end() {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last = time.Since(a.began)
}

func (a *attempts) result() (count int, last time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.count, a.last
}
