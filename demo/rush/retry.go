package rush

import (
	"fmt"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc/codes"
)

// retryPolicy says when a client calls again. Both kinds of clients follow the same one: grpc-go has it built in, for
// Connect see retryingInterceptor.
//
// Only refusals are repeated. A call whose deadline has passed is over: its client asks again in the next round.
type retryPolicy struct {
	maxAttempts    int
	initialBackoff time.Duration
	maxBackoff     time.Duration
	multiplier     float64
}

// retryable says whether a call that ended with this code may be made again. Both codes mean that no handler has
// done anything, so that it is safe for CreateOrder too.
func (p retryPolicy) retryable(code codes.Code) bool {
	return code == codes.ResourceExhausted || code == codes.Unavailable
}

// backoff is how long to wait after the given attempt, counted from 1, if the server did not say. Like grpc-go it is
// off by up to a fifth, so that clients which were refused together do not come back together.
func (p retryPolicy) backoff(attempt int) time.Duration {
	d := float64(p.initialBackoff)
	for range attempt - 1 {
		d = min(d*p.multiplier, float64(p.maxBackoff))
	}
	return time.Duration(d * (0.8 + 0.4*rand.Float64()))
}

// serviceConfig is the policy in the words of grpc-go.
func (p retryPolicy) serviceConfig() string {
	return fmt.Sprintf(`{"methodConfig": [{"name": [{}], "retryPolicy": {
		"maxAttempts": %d,
		"initialBackoff": "%.9fs",
		"maxBackoff": "%.9fs",
		"backoffMultiplier": %g,
		"retryableStatusCodes": ["RESOURCE_EXHAUSTED", "UNAVAILABLE"]}}]}`,
		p.maxAttempts, p.initialBackoff.Seconds(), p.maxBackoff.Seconds(), p.multiplier)
}
