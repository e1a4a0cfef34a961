package server

import (
	"context"
	"errors"

	"connectrpc.com/connect"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rpcgate/rpcgate/demo/store"
)

// classify returns the code and the text that a client gets for an error of the shop. The texts of unexpected errors
// stay in the server. gRPC and Connect use the same numbers for codes.
func classify(ctx context.Context, err error) (codes.Code, string) {
	if ctx.Err() != nil {
		err = ctx.Err() // an interrupted query may return any error
	}
	switch {
	case errors.Is(err, store.ErrInvalid):
		return codes.InvalidArgument, err.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return codes.DeadlineExceeded, "deadline exceeded"
	case errors.Is(err, context.Canceled):
		return codes.Canceled, "canceled"
	case errors.Is(err, store.ErrBusy): // nothing was written, so a client may try again
		return codes.Unavailable, "database busy"
	default:
		return codes.Internal, "internal error"
	}
}

func grpcError(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	return status.Error(classify(ctx, err))
}

func connectError(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	code, text := classify(ctx, err)
	return connect.NewError(connect.Code(code), errors.New(text))
}
