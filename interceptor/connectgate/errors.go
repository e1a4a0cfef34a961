package connectgate

import (
	"errors"

	"github.com/rpcgate/rpcgate/interceptor/internal/refusal"
)

// refused is what the error of a refused call wraps, in both versions of Connect. It
// wraps the *gate.Rejection. Its text is the one that clients get.
type refused struct {
	refusal refusal.Refusal
	cause   error // is or wraps the rejection
}

func (e *refused) Error() string { return e.refusal.Message() }
func (e *refused) Unwrap() error { return e.cause }

// failed is what the error of a call wraps that was not admitted for another reason.
// Clients get its text and not that of its cause.
type failed struct {
	text  string
	cause error
}

func (e *failed) Error() string { return e.text }
func (e *failed) Unwrap() error { return e.cause }

// IsLocal reports whether err was made by the gate of a client in this process, in an
// interceptor of [NewInterceptor] or [NewClientInterceptor], and not sent by a
// server. An interceptor that retries calls should not retry such a call at once:
// that would defeat the gate. The *[gate.Rejection], which [errors.As] finds in err,
// says how long to wait.
func IsLocal(err error) bool {
	var r *refused
	return errors.As(err, &r) && r.refusal.IsLocal()
}

// carrier is the header or trailer that tells clients when to come back.
type carrier struct {
	key   string
	value func(refusal.Refusal) string
}

// carrierOf returns the carrier of a protocol. Connect uses HTTP's, which gRPC clients
// ignore.
func carrierOf(protocol string) carrier {
	if protocol == protocolConnect {
		return carrier{refusal.RetryAfterHeader, refusal.Refusal.RetryAfter}
	}
	return carrier{refusal.PushbackHeader, refusal.Refusal.Pushback}
}

// The names of the protocols are the same in both versions of Connect.
const (
	protocolConnect = "connect"
	protocolGRPC    = "grpc"
)
