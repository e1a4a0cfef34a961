// Package refusal turns a rejection into what clients are told. Only this package
// knows the codes, headers and texts; the hosts write them in their protocols. The
// google.rpc messages of a refusal are in package details, so that a host without
// protobuf does not link them.
package refusal

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

// What clients read. It names no internals.
const (
	Message = "server busy"
	Domain  = "rpcgate"
)

// Refusal is what a client is told of a rejection.
type Refusal struct {
	// Code is a google.rpc.Code, HTTPStatus the corresponding status.
	Code       uint32
	HTTPStatus int
	// Delay is the time after which to try again. It has whole milliseconds, so
	// that all carriers say the same.
	Delay time.Duration
	// NoRetry is set if a retry could not succeed, and would only hide the
	// rejection: the caller's deadline is nearer than the delay, or the server is
	// said not to offer the method.
	NoRetry bool

	rejection *gate.Rejection
	withState bool
	local     bool
}

// New returns the refusal that tells the caller, whose context ctx is, of r.
// withState adds the gate's name and numbers.
func New(ctx context.Context, r *gate.Rejection, withState bool) Refusal {
	out := Refusal{
		Code:       CodeResourceExhausted,
		HTTPStatus: http.StatusTooManyRequests,
		Delay:      roundUp(r.RetryDelay, time.Millisecond),
		rejection:  r,
		withState:  withState,
	}
	switch r.Refusal {
	case gate.ServiceUnavailable:
		out.Code, out.HTTPStatus = CodeUnavailable, http.StatusServiceUnavailable
	case gate.Unimplemented:
		out.Code, out.HTTPStatus = CodeUnimplemented, http.StatusNotImplemented
		out.NoRetry = true
	}
	if deadline, ok := ctx.Deadline(); ok && !out.Draining() { // another server may answer at once
		out.NoRetry = out.NoRetry || time.Until(deadline) <= out.Delay
	}
	return out
}

// Local returns the refusal marked as made by a client's own gate, so that it is not
// taken for a server's.
func (r Refusal) Local() Refusal {
	r.local = true
	return r
}

// IsLocal reports whether the refusal was made by a client's own gate.
func (r Refusal) IsLocal() bool { return r.local }

// Draining reports whether the gate drains. The client should go elsewhere at once,
// see [CloseConnection].
func (r Refusal) Draining() bool { return r.rejection.Reason == gate.ReasonDraining }

// ForAttempt returns the refusal for an attempt of a gRPC call. previous is the value
// of [AttemptsMetadata], empty for the first attempt.
//
// While the gate drains, attempts come in pairs: the first, the third and so on get the
// shortest delay. A client that uses its servers in turn then has its next attempt on
// the next server, before another call takes that turn. If one did, the second of the
// pair gets the drawn delay: otherwise a client without another server would use up its
// attempts at once.
func (r Refusal) ForAttempt(previous string) Refusal {
	if r.Draining() && firstOfPair(previous) {
		r.Delay = roundUp(r.rejection.MinRetryDelay, time.Millisecond)
	}
	return r
}

// firstOfPair reports whether an even number of attempts went before. What is not a
// number does not count as one.
func firstOfPair(previous string) bool {
	if previous == "" {
		return true
	}
	n, err := strconv.ParseUint(previous, 10, 32)
	return err == nil && n%2 == 0
}

// WithPushback returns the refusal with the delay of a pushback that the caller
// already gets.
func (r Refusal) WithPushback(value string) Refusal {
	ms, err := strconv.ParseInt(value, 10, 32)
	r.NoRetry = err != nil || ms < 0
	if !r.NoRetry {
		r.Delay = time.Duration(ms) * time.Millisecond
	}
	return r
}

// Rejection is the rejection that the refusal tells of.
func (r Refusal) Rejection() *gate.Rejection { return r.rejection }

// Pushback is the value of [PushbackMetadata].
func (r Refusal) Pushback() string {
	if r.NoRetry {
		return "-1"
	}
	return strconv.FormatInt(r.Delay.Milliseconds(), 10)
}

// RetryAfter is the value of [RetryAfterHeader].
func (r Refusal) RetryAfter() string {
	return strconv.FormatInt(r.rejection.RetrySeconds(), 10)
}

// RetryAfter is the value of [RetryAfterHeader] for a delay that another server has
// told. It is rounded at random, as the delay of a rejection is.
func RetryAfter(delay time.Duration, draining bool) string {
	told := gate.Rejection{RetryDelay: delay}
	if draining {
		told.Reason = gate.ReasonDraining
	} else {
		told.RetryDelay -= rand.N(time.Second)
	}
	return strconv.FormatInt(told.RetrySeconds(), 10)
}

// CloseConnection sets the header that sends a client of HTTP/1.1 elsewhere: it does not
// use the connection again. Over HTTP/2, net/http sends GOAWAY instead and serves the
// streams that are open. One gate that drains is no reason for that: others use the
// connection, too, and some clients fail calls that meet a GOAWAY.
func CloseConnection(h interface{ Set(key, value string) }) { h.Set("Connection", "close") }

// KeepFromCaches sets the header that forbids caches to store a refusal, whatever was
// set for the answers of the handler. Caches store answers to GET, and answers with a
// 503 even if nothing allows it (CloudFront).
func KeepFromCaches(h interface{ Set(key, value string) }) { h.Set("Cache-Control", "no-store") }

// Message is the text of the error.
func (r Refusal) Message() string {
	if r.local {
		return "client busy"
	}
	return Message
}

// State is the metadata of google.rpc.ErrorInfo. Usually it is empty.
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

// HasState reports whether State is not empty.
func (r Refusal) HasState() bool { return r.withState || r.local }

// RequestID is the request id of the rejection, without what a string in protobuf or
// JSON cannot hold: a call may have been given any bytes.
func (r Refusal) RequestID() string { return strings.ToValidUTF8(r.rejection.RequestID, "") }

// Reason is the rejection's reason in the form of google.rpc.ErrorInfo: in upper snake
// case.
func (r Refusal) Reason() string { return ReasonCode(r.rejection.Reason) }

// ReasonCode is the [Refusal.Reason] for a reason of package gate.
func ReasonCode(r gate.Reason) string {
	return cmp.Or(strings.ToUpper(r.String()), "BUSY")
}

// SaysDraining reports whether a google.rpc.ErrorInfo with the given domain and reason
// comes from a draining gate.
func SaysDraining(domain, reason string) bool {
	return domain == Domain && reason == ReasonCode(gate.ReasonDraining)
}

// roundUp rounds d up to a multiple of unit. If that would overflow, it rounds down:
// an error of a handler may have a delay of centuries.
func roundUp(d, unit time.Duration) time.Duration {
	return (min(d, math.MaxInt64-unit) + unit - 1) / unit * unit
}
