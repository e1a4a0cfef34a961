package refusal

import (
	"context"
	"errors"
	"net/http"
)

// The values of google.rpc.Code that callers are told. The codes of grpc-go and of
// Connect are these numbers.
const (
	CodeCanceled          = 1
	CodeDeadlineExceeded  = 4
	CodeResourceExhausted = 8
	CodeInternal          = 13
	CodeUnavailable       = 14
)

// StatusClientClosedRequest is nginx's HTTP status for a client that has gone. Only
// logs see it.
const StatusClientClosedRequest = 499

// Failure is how a caller is told that its call was not admitted when that is no
// rejection: the caller has gone, or an Admitter that is not one of package gate's
// has failed. The code is never Unknown, which clients take for a bug of the
// handler.
type Failure struct {
	// Code is a google.rpc.Code, HTTPStatus the one that goes with it.
	Code       uint32
	HTTPStatus int
	// Name is the error in the body of plain HTTP, Message the text elsewhere.
	Name, Message string
}

// FailureOf says how the caller is told of err.
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
