package refusal

import (
	"context"
	"errors"
	"net/http"
)

// The values of google.rpc.Code that callers get. grpc-go and Connect use the same
// numbers.
const (
	CodeCanceled          = 1
	CodeDeadlineExceeded  = 4
	CodeResourceExhausted = 8
	CodeUnimplemented     = 12
	CodeInternal          = 13
	CodeUnavailable       = 14
)

// StatusClientClosedRequest is nginx's HTTP status for a client that has gone. It only
// appears in logs.
const StatusClientClosedRequest = 499

// Failure is the answer to a call that was not admitted, but not rejected either: the
// caller has gone, or an Admitter from outside package gate has failed. It is also the
// answer to a call that was admitted and is cut off. Its code is
// never Unknown, which clients take for a bug of the handler.
type Failure struct {
	// Code is a google.rpc.Code, HTTPStatus the corresponding status.
	Code       uint32
	HTTPStatus int
	// Name is the error in the body of plain HTTP, Message the text in RPCs.
	Name, Message string
}

// SlowRequest is the answer to an admitted call that is cut off because its request is too
// slow.
func SlowRequest() Failure {
	return Failure{CodeDeadlineExceeded, http.StatusRequestTimeout, "slow_request", "request too slow"}
}

// FailureOf returns the Failure for err.
func FailureOf(err error) Failure {
	switch {
	case errors.Is(err, context.Canceled):
		return Failure{CodeCanceled, StatusClientClosedRequest, "canceled", err.Error()}
	case errors.Is(err, context.DeadlineExceeded):
		return Failure{CodeDeadlineExceeded, http.StatusGatewayTimeout, "deadline_exceeded", err.Error()}
	default:
		return Failure{CodeInternal, http.StatusInternalServerError, "not_admitted", "call not admitted"}
	}
}
