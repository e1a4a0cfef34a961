package connectgate_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"

	"connectrpc.com/connect"
	connectv2 "connectrpc.com/connect/v2"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/interceptor/connectgate"
	"github.com/rpcgate/rpcgate/internal/memhttp"
)

func TestClientFindsOneDelayWhateverTheHandlerHasSet(t *testing.T) {
	for _, name := range []string{"v1", "v2"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inner := newGate(t)
				defer fill(t, inner)()
				s := memhttp.Start(t, servers(newGate(t), func(ctx context.Context) error {
					setDelays(ctx)
					_, err := inner.Acquire(ctx, gate.Call{RequestID: "id-1"})
					return fmt.Errorf("reading orders: %w", err)
				})[name])
				res, body := exchange(t, s, postUnary)
				if got := res.Header.Values("Retry-After"); !isRounded(got) {
					t.Errorf("Retry-After is %q, want the one of the refusal", got)
				}
				checkError(t, body, "resource_exhausted", "LIMIT")
				frames := callHTTP2(t, s, unaryRoute, true, nil, "")
				if got := frames[len(frames)-1].header.Values("Grpc-Retry-Pushback-Ms"); len(got) != 1 || got[0] != "1500" {
					t.Errorf("the pushback is %q, want the one of the refusal", got)
				}
			})
		})
	}
}

// setDelays sets what a handler may think its client should be told.
func setDelays(ctx context.Context) {
	if info, ok := connect.CallInfoForHandlerContext(ctx); ok {
		info.ResponseHeader().Set("Retry-After", "77")
		info.ResponseTrailer().Set("Grpc-Retry-Pushback-Ms", "77")
	}
	if info, ok := connectv2.CallInfoForServerContext(ctx); ok {
		info.ResponseHeader().Set("Retry-After", "77")
		info.ResponseTrailer().Set("Grpc-Retry-Pushback-Ms", "77")
	}
}

func TestErrorWithACodeOfTheHandlersIsLeftAlone(t *testing.T) {
	for name, unavailable := range map[string]func(error) error{
		"v1": func(err error) error { return connect.NewError(connect.CodeDataLoss, fmt.Errorf("so it is: %w", err)) },
		"v2": func(err error) error { return connectv2.NewError(connectv2.CodeDataLoss, "so it is").WithCause(err) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inner := newGate(t)
				defer fill(t, inner)()
				s := memhttp.Start(t, servers(newGate(t), func(ctx context.Context) error {
					_, err := inner.Acquire(ctx, gate.Call{})
					return unavailable(err)
				})[name])
				if res, body := exchange(t, s, postUnary); res.StatusCode != http.StatusInternalServerError {
					t.Errorf("got %s and %s, want what the handler has said", res.Status, body)
				}
			})
		})
	}
}

func TestOuterInterceptorsFindTheRejection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		defer fill(t, g)()
		var seen []error
		v1 := connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
			return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
				res, err := next(ctx, req)
				seen = append(seen, err)
				return res, err
			}
		})
		v2 := func(next connectv2.ServerFunc) connectv2.ServerFunc {
			return func(ctx context.Context, spec connectv2.Spec, stream connectv2.ServerStream) error {
				err := next(ctx, spec, stream)
				seen = append(seen, err)
				return err
			}
		}
		exchange(t, memhttp.Start(t, handlerV1(nil, v1, connectgate.NewInterceptor(g))), postUnary)
		exchange(t, memhttp.Start(t, handlerV2(nil, v2, connectgate.NewServerInterceptor(g))), postUnary)
		for _, err := range seen {
			var r *gate.Rejection
			if !errors.As(err, &r) || r.RequestID != "id-1" || !errors.Is(err, gate.ErrBusy) || connectgate.IsLocal(err) {
				t.Errorf("an outer interceptor sees %v with the rejection %v", err, r)
			}
			if err.Error() != "resource_exhausted: server busy" {
				t.Errorf("the text is %q", err)
			}
		}
		if len(seen) != 2 {
			t.Errorf("%d errors were seen, want 2", len(seen))
		}
	})
}

func TestTwoGatesInARowTellTheClientOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outer, inner := newGate(t), newGate(t)
		defer fill(t, inner)()
		for name, h := range map[string]http.Handler{
			"v1": handlerV1(nil, connectgate.NewInterceptor(outer), connectgate.NewInterceptor(inner)),
			"v2": handlerV2(nil, connectgate.NewServerInterceptor(outer), connectgate.NewServerInterceptor(inner)),
		} {
			s := memhttp.Start(t, h)
			res, body := exchange(t, s, postUnary)
			checkUnaryHead(t, res, http.StatusTooManyRequests)
			checkError(t, body, "resource_exhausted", "LIMIT")
			frames := callHTTP2(t, s, unaryRoute, true, nil, "")
			if len(frames) != 2 {
				t.Fatalf("%s: got %v", name, frames)
			}
			checkStatus(t, frames[1].header)
		}
	})
}
