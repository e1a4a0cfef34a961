package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rpcgate/rpcgate/demo/store"
)

func TestErrorsOfTheShop(t *testing.T) {
	t.Parallel()
	gone, leave := context.WithCancel(context.Background())
	leave()
	for _, tt := range []struct {
		ctx  context.Context
		err  error
		want codes.Code
	}{
		{t.Context(), fmt.Errorf("%w: limit", store.ErrInvalid), codes.InvalidArgument},
		{t.Context(), errors.Join(store.ErrBusy, errors.New("secret")), codes.Unavailable},
		{t.Context(), context.DeadlineExceeded, codes.DeadlineExceeded},
		{t.Context(), errors.New("secret"), codes.Internal},
		{gone, errors.Join(store.ErrBusy, errors.New("secret")), codes.Canceled},
		{gone, errors.New("secret"), codes.Canceled},
	} {
		g, c := grpcError(tt.ctx, tt.err), connectError(tt.ctx, tt.err)
		if status.Code(g) != tt.want || connect.CodeOf(c) != connect.Code(tt.want) {
			t.Errorf("%v: gRPC %v, Connect %v; want %v", tt.err, g, c, tt.want)
		}
		if strings.Contains(g.Error()+c.Error(), "secret") {
			t.Errorf("%v: tells clients of the inside: %v, %v", tt.err, g, c)
		}
	}
	if grpcError(t.Context(), nil) != nil || connectError(t.Context(), nil) != nil {
		t.Error("no error became one")
	}
}
