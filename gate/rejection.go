package gate

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// ErrBusy and ErrTimeout match a [*Rejection] by its decision, with
// [errors.Is]: RejectedBusy is ErrBusy, RejectedTimeout is ErrTimeout.
var (
	ErrBusy    = errors.New("gate: busy")
	ErrTimeout = errors.New("gate: no unit within the allowed wait")
)

// Rejection is the error of a refused call. Its text is for logs: it names the
// gate and its state, which the interceptors keep from clients.
//
// A Rejection is never changed once it is returned, so it is safe for
// concurrent use.
type Rejection struct {
	// Gate is the name of the gate that refused.
	Gate     string
	Decision Decision // RejectedBusy or RejectedTimeout
	Reason   Reason
	// Refusal is the form that the rejection has for clients.
	Refusal Refusal
	// Waited is how long the call waited before it was refused.
	Waited time.Duration
	// InFlight and Limit are the units in use and allowed at that moment.
	InFlight, Limit int64
	// RetryDelay is when to try again, drawn anew for each rejection; see
	// [WithRetryDelay] and [Rejection.RetrySeconds].
	RetryDelay time.Duration
	// MinRetryDelay is the lower end of the range that RetryDelay was drawn from.
	// While the gate drains, hosts tell it to every other attempt of a gRPC call.
	MinRetryDelay time.Duration
	// RequestID is that of the call, or one made up for the rejection.
	RequestID string

	roundedBy time.Duration // see RetrySeconds
}

// Error describes the rejection for a log.
func (r *Rejection) Error() string {
	return fmt.Sprintf("gate %q: %s (%s) after %s with %d of %d in flight",
		r.Gate, r.Decision, r.Reason, r.Waited, r.InFlight, r.Limit)
}

// Is matches [ErrBusy] and [ErrTimeout].
func (r *Rejection) Is(target error) bool {
	switch target {
	case ErrBusy:
		return r.Decision == RejectedBusy
	case ErrTimeout:
		return r.Decision == RejectedTimeout
	default:
		return false
	}
}

// newRequestID makes the id of a rejected call that came without one. It only
// has to be unlikely to repeat, so that logs and clients can be matched.
func newRequestID() string {
	var id [16]byte
	binary.LittleEndian.PutUint64(id[:8], rand.Uint64())
	binary.LittleEndian.PutUint64(id[8:], rand.Uint64())
	return hex.EncodeToString(id[:])
}
