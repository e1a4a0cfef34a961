package grpcgate_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/rpcgate/rpcgate/gate"
	testv1 "github.com/rpcgate/rpcgate/gen/rpcgate/test/v1"
	"github.com/rpcgate/rpcgate/interceptor"
	"github.com/rpcgate/rpcgate/interceptor/grpcgate"
)

// authenticating returns interceptors that have a gate of their own, outside of the server's.
func authenticating(auth *gate.Gate) []grpc.ServerOption {
	verify := func(context.Context) error { return nil }
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			if err := auth.Do(ctx, gate.Call{}, verify); err != nil {
				return nil, err
			}
			return next(ctx, req)
		}),
		grpc.ChainStreamInterceptor(func(srv any, s grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			if err := auth.Do(s.Context(), gate.Call{}, verify); err != nil {
				return err
			}
			return next(srv, s)
		}),
	}
}

// calls are a unary call and a stream. They return the trailer.
func calls(c testv1.EchoServiceClient) map[string]func(ctx context.Context) (metadata.MD, error) {
	return map[string]func(context.Context) (metadata.MD, error){
		"unary": func(ctx context.Context) (trailer metadata.MD, err error) {
			_, err = c.Unary(ctx, &testv1.UnaryRequest{}, grpc.Trailer(&trailer))
			return trailer, err
		},
		"stream": func(ctx context.Context) (metadata.MD, error) {
			s, err := c.ServerStream(ctx, &testv1.ServerStreamRequest{})
			if err != nil {
				return nil, err
			}
			_, err = s.Recv()
			return s.Trailer(), err
		},
	}
}

func TestARejectionOfAnInterceptorBeforeTheGateIsARefusal(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var seen gate.Event
		auth := newGate(t, "auth", gate.WithMaxWait(0), gate.WithRetryDelay(2*time.Second, 2*time.Second),
			gate.WithOnEvent(func(_ context.Context, e gate.Event) { seen = e }))
		db := newGate(t, "db")
		release := fill(t, auth)
		opts := append(grpcgate.TranslatorOptions(), authenticating(auth)...)
		c := serve(t, nil, append(opts, grpcgate.ServerOptions(db)...))
		for name, call := range calls(c) {
			ctx := metadata.AppendToOutgoingContext(t.Context(), "x-request-id", "req-17")
			trailer, err := call(ctx)
			wantCode(t, err, codes.ResourceExhausted)
			if got := trailer.Get("grpc-retry-pushback-ms"); len(got) != 1 || got[0] != "2000" {
				t.Errorf("%s: pushback %q, want one of 2000", name, got)
			}
			s := status.Convert(err)
			if s.Message() != "server busy" || len(s.Details()) != 3 {
				t.Errorf("%s: text %q and %d details", name, s.Message(), len(s.Details()))
			}
			for _, d := range s.Details() {
				if info, ok := d.(*errdetails.RequestInfo); ok && info.GetRequestId() != "req-17" {
					t.Errorf("%s: the refusal has the request id %q, want the client's", name, info.GetRequestId())
				}
			}
			if !strings.HasPrefix(seen.Call.Route, "/rpcgate.test.v1.EchoService/") {
				t.Errorf("%s: the gate of the interceptor knows the route %q", name, seen.Call.Route)
			}
		}
		release()
	})
}

// TestARefusalIsTranslatedOnce has a refusal of the gate further in, and one of an interceptor after it.
func TestARefusalIsTranslatedOnce(t *testing.T) {
	for _, full := range []string{"db", "auth"} {
		bubble(t, func(t *testing.T) {
			gates := map[string]*gate.Gate{"auth": newGate(t, "auth", gate.WithMaxWait(0)), "db": newGate(t, "db", gate.WithMaxWait(0))}
			defer fill(t, gates[full])()
			opts := append(grpcgate.TranslatorOptions(), grpcgate.ServerOptions(gates["db"])...)
			for name, call := range calls(serve(t, nil, append(opts, authenticating(gates["auth"])...))) {
				trailer, err := call(t.Context())
				wantCode(t, err, codes.ResourceExhausted)
				if got := trailer.Get("grpc-retry-pushback-ms"); len(got) != 1 {
					t.Errorf("%s, %s full: pushback %q, want one", name, full, got)
				}
				if n := len(status.Convert(err).Details()); n != 3 {
					t.Errorf("%s, %s full: %d details, want 3", name, full, n)
				}
			}
		})
	}
}

func TestATranslatorChangesNothingElse(t *testing.T) {
	bubble(t, func(t *testing.T) {
		failure := status.Error(codes.NotFound, "no such order")
		handler := func(context.Context) error { return nil }
		opts := append(grpcgate.TranslatorOptions(), grpc.ChainUnaryInterceptor(
			func(ctx context.Context, _ any, _ *grpc.UnaryServerInfo, _ grpc.UnaryHandler) (any, error) {
				if lease, ok := gate.LeaseFromContext(ctx); ok || lease != (gate.Lease{}) {
					t.Error("a call that nothing has admitted has a lease")
				}
				return &testv1.UnaryResponse{}, handler(ctx)
			}))
		c := serve(t, nil, opts)
		if _, err := c.Unary(t.Context(), &testv1.UnaryRequest{}); err != nil {
			t.Error(err)
		}
		handler = func(context.Context) error { return failure }
		_, err := c.Unary(t.Context(), &testv1.UnaryRequest{})
		if s := status.Convert(err); s.Code() != codes.NotFound || s.Message() != "no such order" {
			t.Errorf("got %v, want the interceptor's own error", err)
		}
	})
}

// TestARejectionThatNobodyTranslatesLeaksNothing has the same interceptor without a translator.
func TestARejectionThatNobodyTranslatesLeaksNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		auth := newGate(t, "secret-auth", gate.WithMaxWait(0))
		defer fill(t, auth)()
		for name, call := range calls(serve(t, nil, authenticating(auth))) {
			trailer, err := call(t.Context())
			wantCode(t, err, codes.Unknown)
			if text := err.Error(); strings.Contains(text, "secret") || strings.Contains(text, "1 of 1") || len(trailer["grpc-status-details-bin"]) > 0 {
				t.Errorf("%s: the client reads %q", name, text)
			}
		}
	})
}

// TestGatesBeforeTheHostKnowTheKeyOfACall has a translator with options that describe a call.
func TestGatesBeforeTheHostKnowTheKeyOfACall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var seen []gate.Call
		auth := newGate(t, "auth", gate.WithKeyLimit(1), gate.WithOnEvent(func(_ context.Context, e gate.Event) {
			seen = append(seen, e.Call)
		}))
		opts := grpcgate.TranslatorOptions(interceptor.WithKeyFromHeader("x-tenant"), interceptor.WithPriorityFromHeader("x-priority"))
		for name, call := range calls(serve(t, nil, append(opts, authenticating(auth)...))) {
			if _, err := call(metadata.AppendToOutgoingContext(t.Context(), "x-tenant", "ann", "x-priority", "critical")); err != nil && err != io.EOF {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, call := range seen {
			if call.Key != "ann" || call.Priority != gate.Critical {
				t.Errorf("key %q, priority %s", call.Key, call.Priority)
			}
		}
		if len(seen) != 4 {
			t.Errorf("%d events, want two of each call", len(seen))
		}
	})
}

func TestMistakesInOptionsOfATranslatorPanic(t *testing.T) {
	defer func() {
		if got, _ := recover().(string); !strings.HasPrefix(got, "grpcgate: WithPriorityFromHeader: want") {
			t.Errorf("got the panic %q", got)
		}
	}()
	grpcgate.TranslatorOptions(interceptor.WithPriorityFromHeader(""))
}
