package connectgate

import (
	"errors"

	"github.com/rpcgate/rpcgate/interceptor/internal/refusal"
)

// refused is underneath the error of a refused call, of either version of
// Connect, and above the *gate.Rejection. Its text is what clients are sent.
type refused struct {
	refusal refusal.Refusal
	cause   error // is or wraps the rejection
}

func (e *refused) Error() string { return e.refusal.Message() }
func (e *refused) Unwrap() error { return e.cause }

// failed is underneath any other error that kept a call from being admitted, so
// that clients are sent its text and not that of its cause.
type failed struct {
	text  string
	cause error
}

func (e *failed) Error() string { return e.text }
func (e *failed) Unwrap() error { return e.cause }

// IsLocal reports whether err is the refusal of a client's gate in this process,
// not one that the server sent: of an interceptor that [NewInterceptor] or
// [NewClientInterceptor] made. An interceptor that retries should not retry
// these at once, or the gate is in vain. The *[gate.Rejection] in err, which
// [errors.As] finds, has the delay.
func IsLocal(err error) bool {
	var r *refused
	return errors.As(err, &r) && r.refusal.IsLocal()
}

// carrier is the header, or trailer, that tells clients when to come back.
type carrier struct {
	key   string
	value func(refusal.Refusal) string
}

// carrierOf returns that of a protocol. Connect's is HTTP's. gRPC's clients do
// not look at that one.
func carrierOf(protocol string) carrier {
	if protocol == protocolConnect {
		return carrier{refusal.RetryAfterHeader, refusal.Refusal.RetryAfter}
	}
	return carrier{refusal.PushbackHeader, refusal.Refusal.Pushback}
}

// The names of the protocols are the same in both versions of Connect.
const protocolConnect = "connect"
