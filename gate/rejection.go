package gate

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"time"
)

// ErrBusy and ErrTimeout match a [*Rejection] by its decision, with
// [errors.Is]: RejectedBusy is ErrBusy, RejectedTimeout is ErrTimeout.
var (
	ErrBusy    = errors.New("gate: busy")
	ErrTimeout = errors.New("gate: no unit within the allowed wait")
)

// Rejection is the error of a refused call. Its text says nothing of the inside, since
// an error may reach a client by ways that no interceptor sees. For logs, slog prints
// its fields (see [Rejection.LogValue]), and fmt with %+v prints a line with them.
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

// Error returns "server busy", which is what clients are told.
func (r *Rejection) Error() string { return "server busy" }

// Format implements [fmt.Formatter]. %+v describes the rejection for a log: the gate,
// the decision, the reason, the wait and the units. All else prints what
// [Rejection.Error] returns.
func (r *Rejection) Format(f fmt.State, verb rune) {
	switch {
	case r == nil:
		_, _ = io.WriteString(f, "<nil>")
	case verb == 'v' && f.Flag('+'):
		_, _ = fmt.Fprintf(f, "server busy: gate %q: %s (%s) after %s with %d of %d in flight",
			r.Gate, r.Decision, r.Reason, r.Waited, r.InFlight, r.Limit)
	default:
		_, _ = fmt.Fprintf(f, fmt.FormatString(f, verb), r.Error())
	}
}

// LogValue implements [slog.LogValuer]. The fields are those of the Rejection, with the
// names that gatelog uses.
func (r *Rejection) LogValue() slog.Value {
	if r == nil {
		return slog.Value{}
	}
	return slog.GroupValue(
		slog.String("gate", r.Gate),
		slog.String("decision", r.Decision.String()),
		slog.String("reason", r.Reason.String()),
		slog.Int64("waited_ms", r.Waited.Milliseconds()),
		slog.Int64("in_flight", r.InFlight),
		slog.Int64("limit", r.Limit),
		slog.String("request_id", r.RequestID),
	)
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
