package rush

import (
	"fmt"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc/codes"
)

// retryPolicy says when a client retries. Both kinds of clients have the same policy: grpc-go has it built in, for
// Connect see retryingInterceptor.
//
// Only refused calls are retried. A call whose deadline has passed is over: its client asks again in the next round.
type retryPolicy struct {
	maxAttempts    int
	initialBackoff time.Duration
	maxBackoff     time.Duration
	multiplier     float64
}

// retryable reports whether a call that ended with this code may be retried. Both codes mean that no handler has done
// anything, so a retry is safe even for CreateOrder.
func (p retryPolicy) retryable(code codes.Code) bool {
	return code == codes.ResourceExhausted || code == codes.Unavailable
}

// backoff returns how long to wait after the given attempt, counted from 1, if the server did not say. Like grpc-go's,
// it varies by up to a fifth, so that clients that were refused together do not come back together.
func (p retryPolicy) backoff(attempt int) time.Duration {
	d := float64(p.initialBackoff)
	for range attempt - 1 {
		d = min(d*p.multiplier, float64(p.maxBackoff))
	}
	return time.Duration(d * (0.8 + 0.4*rand.Float64()))
}

// serviceConfig returns the policy as a service config of grpc-go.
func (p retryPolicy) serviceConfig() string {
	return fmt.Sprintf(`{"methodConfig": [{"name": [{}], "retryPolicy": {
		"maxAttempts": %d,
		"initialBackoff": "%.9fs",
		"maxBackoff": "%.9fs",
		"backoffMultiplier": %g,
		"retryableStatusCodes": ["RESOURCE_EXHAUSTED", "UNAVAILABLE"]}}]}`,
		p.maxAttempts, p.initialBackoff.Seconds(), p.maxBackoff.Seconds(), p.multiplier)
}
