// Package refusal says how clients are told that a call was refused. It is the
// one place that knows the codes, headers and texts; the hosts only put them on
// their wire. Package details, below it, makes google.rpc messages of a refusal:
// it is apart so that a host without protobuf need not link it.
package refusal

import (
	"context"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

// What clients read. The text names no internals.
const (
	Message = "server busy"
	Domain  = "rpcgate"
)

// Refusal is one rejection as the client is told of it.
type Refusal struct {
	// Code is a google.rpc.Code, HTTPStatus the one that goes with it.
	Code       uint32
	HTTPStatus int
	// Delay is the time after which to try again, in whole milliseconds, so
	// that all its carriers say the same.
	Delay time.Duration
	// NoRetry is set when the caller's deadline is nearer than the delay: a
	// retry could not succeed, it would only hide the rejection.
	NoRetry bool

	rejection *gate.Rejection
	withState bool
	local     bool
}

// New works out how the caller that ctx belongs to is told of r. withState adds
// the gate's name and numbers, which are otherwise kept from clients.
func New(ctx context.Context, r *gate.Rejection, withState bool) Refusal {
	out := Refusal{
		Code:       CodeResourceExhausted,
		HTTPStatus: http.StatusTooManyRequests,
		Delay:      roundUp(r.RetryDelay, time.Millisecond),
		rejection:  r,
		withState:  withState,
	}
	if r.Refusal == gate.ServiceUnavailable {
		out.Code, out.HTTPStatus = CodeUnavailable, http.StatusServiceUnavailable
	}
	if deadline, ok := ctx.Deadline(); ok && r.Reason != gate.ReasonDraining { // another server may answer at once
		out.NoRetry = time.Until(deadline) <= out.Delay
	}
	return out
}

// Local returns the refusal marked as made on the client's own side, so that
// nobody takes it for the server's.
func (r Refusal) Local() Refusal {
	r.local = true
	return r
}

// IsLocal reports whether the refusal is so marked.
func (r Refusal) IsLocal() bool { return r.local }

// WithPushback returns the refusal with the delay that a value of
// [PushbackMetadata] says, for a call whose caller is told that already.
func (r Refusal) WithPushback(value string) Refusal {
	ms, err := strconv.ParseInt(value, 10, 32)
	r.NoRetry = err != nil || ms < 0
	if !r.NoRetry {
		r.Delay = time.Duration(ms) * time.Millisecond
	}
	return r
}

// Rejection is what the refusal was made from.
func (r Refusal) Rejection() *gate.Rejection { return r.rejection }

// Pushback is the value of [PushbackMetadata].
func (r Refusal) Pushback() string {
	if r.NoRetry {
		return "-1"
	}
	return strconv.FormatInt(r.Delay.Milliseconds(), 10)
}

// RetryAfter is the value of [RetryAfterHeader].
func (r Refusal) RetryAfter() string { return Seconds(r.Delay) }

// Seconds is a delay as [RetryAfterHeader] says it: whole seconds, rounded up.
func Seconds(d time.Duration) string {
	return strconv.FormatInt(int64(roundUp(d, time.Second)/time.Second), 10)
}

// Message is the text of the error.
func (r Refusal) Message() string {
	if r.local {
		return "client busy"
	}
	return Message
}

// State is what else the client may know: nothing, unless it was asked for. It
// goes into the metadata of google.rpc.ErrorInfo.
func (r Refusal) State() map[string]string {
	if !r.HasState() {
		return nil
	}
	m := make(map[string]string, 4)
	if r.local {
		m["side"] = "client"
	}
	if r.withState {
		m["gate"] = strings.ToValidUTF8(r.rejection.Gate, "")
		m["in_flight"] = strconv.FormatInt(r.rejection.InFlight, 10)
		m["limit"] = strconv.FormatInt(r.rejection.Limit, 10)
	}
	return m
}

// HasState reports whether there is any.
func (r Refusal) HasState() bool { return r.withState || r.local }

// RequestID is that of the rejection, which may come from a gate that was told
// anything, without what a protobuf or JSON string cannot hold.
func (r Refusal) RequestID() string { return strings.ToValidUTF8(r.rejection.RequestID, "") }

// Reason is the rejection's reason as google.rpc.ErrorInfo wants it: in upper
// snake case.
func (r Refusal) Reason() string { return ReasonCode(r.rejection.Reason) }

// ReasonCode is what [Refusal.Reason] is for the given reason.
func ReasonCode(r gate.Reason) string {
	switch r {
	case gate.ReasonLimit:
		return "LIMIT"
	case gate.ReasonQueueFull:
		return "QUEUE_FULL"
	case gate.ReasonWaitTimeout:
		return "WAIT_TIMEOUT"
	case gate.ReasonKeyLimit:
		return "KEY_LIMIT"
	case gate.ReasonDeadline:
		return "DEADLINE"
	case gate.ReasonDraining:
		return "DRAINING"
	default:
		return "BUSY"
	}
}

// roundUp rounds d up to a multiple of unit, or down if there is none above: a
// handler's own error may ask for centuries.
func roundUp(d, unit time.Duration) time.Duration {
	return (min(d, math.MaxInt64-unit) + unit - 1) / unit * unit
}
