package connectgate_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"

	"connectrpc.com/connect"
	connectv2 "connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"

	"github.com/rpcgate/rpcgate/gate"
	testv1connectv2 "github.com/rpcgate/rpcgate/gen/connectv2/rpcgate/test/v1/testv1connect"
	testv1 "github.com/rpcgate/rpcgate/gen/rpcgate/test/v1"
	"github.com/rpcgate/rpcgate/gen/rpcgate/test/v1/testv1connect"
	"github.com/rpcgate/rpcgate/interceptor/connectgate"
	"github.com/rpcgate/rpcgate/internal/memhttp"
)

// call is one whole call of each shape, in Connect v1 or v2.
type call func(ctx context.Context) error

// callsV1 are calls of clients of Connect v1 whose gate is a.
func callsV1(s *memhttp.Server, a gate.Admitter) map[string]call {
	client := testv1connect.NewEchoServiceClient(s.ClientHTTP2(), s.URL,
		connect.WithInterceptors(connectgate.NewInterceptor(a)))
	return map[string]call{
		unaryRoute: func(ctx context.Context) error {
			_, err := client.Unary(ctx, connect.NewRequest(&testv1.UnaryRequest{}))
			return err
		},
		clientStreamRoute: func(ctx context.Context) error {
			stream := client.ClientStream(ctx)
			if err := sent(stream.Send(&testv1.ClientStreamRequest{})); err != nil {
				return err
			}
			_, err := stream.CloseAndReceive()
			return err
		},
		serverStreamRoute: func(ctx context.Context) error {
			stream, err := client.ServerStream(ctx, connect.NewRequest(&testv1.ServerStreamRequest{Count: 2}))
			if err != nil {
				return err
			}
			for stream.Receive() {
			}
			return errors.Join(stream.Err(), stream.Close())
		},
		bidiRoute: func(ctx context.Context) error {
			stream := client.BidiStream(ctx)
			if err := sent(stream.Send(&testv1.BidiStreamRequest{})); err != nil {
				return err
			}
			if _, err := stream.Receive(); err != nil {
				return err
			}
			return errors.Join(stream.CloseRequest(), stream.CloseResponse())
		},
	}
}

// sent is the error of a Send, unless that is io.EOF: then Receive has it.
func sent(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// callsV2 are the same of Connect v2.
func callsV2(s *memhttp.Server, a gate.Admitter) map[string]call {
	client := testv1connectv2.NewEchoServiceClient(connectv2.NewClient(
		connecthttp.NewTransport(s.ClientHTTP2(), s.URL), connectgate.NewClientInterceptor(a)))
	return map[string]call{
		unaryRoute: func(ctx context.Context) error {
			_, err := client.Unary(ctx, &testv1.UnaryRequest{})
			return err
		},
		clientStreamRoute: func(ctx context.Context) error {
			stream, err := client.ClientStream(ctx)
			if err != nil {
				return err
			}
			if err := sent(stream.Send(&testv1.ClientStreamRequest{})); err != nil {
				return err
			}
			_, err = stream.CloseAndReceive()
			return err
		},
		serverStreamRoute: func(ctx context.Context) error {
			stream, err := client.ServerStream(ctx, &testv1.ServerStreamRequest{Count: 2})
			if err != nil {
				return err
			}
			for {
				if _, err := stream.Receive(); err != nil {
					return ended(err)
				}
			}
		},
		bidiRoute: func(ctx context.Context) error {
			stream, err := client.BidiStream(ctx)
			if err != nil {
				return err
			}
			if err := sent(stream.Send(&testv1.BidiStreamRequest{})); err != nil {
				return err
			}
			_, err = stream.Receive()
			return errors.Join(err, stream.CloseSend(), stream.Close())
		},
	}
}

// eachClient runs a test with a client of each version and a call of each shape.
func eachClient(t *testing.T, test func(t *testing.T, calls func(*memhttp.Server, gate.Admitter) map[string]call, route string)) {
	for name, calls := range map[string]func(*memhttp.Server, gate.Admitter) map[string]call{"v1": callsV1, "v2": callsV2} {
		t.Run(name, func(t *testing.T) {
			eachShape(t, func(t *testing.T, route string) { test(t, calls, route) })
		})
	}
}

func TestClientHoldsALeaseUntilItsCallIsOver(t *testing.T) {
	eachClient(t, func(t *testing.T, calls func(*memhttp.Server, gate.Admitter) map[string]call, route string) {
		g := newGate(t)
		inside := int64(0)
		s := memhttp.Start(t, handlerV1(func(context.Context) error { inside = g.InFlight(); return nil }))
		for range 3 { // one after the other: each releases its lease
			if err := calls(s, g)[route](t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if inside != 1 {
			t.Errorf("%d in flight during a call, want 1", inside)
		}
		if n := g.Snapshot().Totals.Accepted; n != 3 {
			t.Errorf("%d calls were counted, want 3", n)
		}
	})
}

func TestClientsRefusalIsLocalAndNothingIsSent(t *testing.T) {
	eachClient(t, func(t *testing.T, calls func(*memhttp.Server, gate.Admitter) map[string]call, route string) {
		g := newGate(t)
		defer fill(t, g)()
		s := memhttp.Start(t, handlerV1(func(context.Context) error { t.Error("the call was sent"); return nil }))
		err := calls(s, g)[route](t.Context())
		if !connectgate.IsLocal(err) {
			t.Fatalf("got %v, want a local refusal", err)
		}
		var r *gate.Rejection
		if !errors.As(err, &r) || r.Reason != gate.ReasonLimit || !errors.Is(err, gate.ErrBusy) {
			t.Errorf("the rejection in the error is %v", r)
		}
		if code := codeOf(err); code != 8 {
			t.Errorf("code %d, want that of a server, 8", code)
		}
	})
}

// codeOf is the code of an error of either version.
func codeOf(err error) uint32 {
	var v2 *connectv2.Error
	if errors.As(err, &v2) {
		return uint32(v2.Code())
	}
	return uint32(connect.CodeOf(err))
}

func TestServersRefusalIsNotLocal(t *testing.T) {
	eachClient(t, func(t *testing.T, calls func(*memhttp.Server, gate.Admitter) map[string]call, route string) {
		g := newGate(t)
		defer fill(t, g)()
		s := memhttp.Start(t, handlerV1(nil, connectgate.NewInterceptor(g)))
		err := calls(s, newGate(t))[route](t.Context())
		if codeOf(err) != 8 || connectgate.IsLocal(err) {
			t.Errorf("got %v, local %v, want a refusal that is not local", err, connectgate.IsLocal(err))
		}
	})
}

func TestLocalRefusalIsToldByAHandlerAsItsServersOwn(t *testing.T) {
	for _, name := range []string{"v1", "v2"} {
		eachClient(t, func(t *testing.T, calls func(*memhttp.Server, gate.Admitter) map[string]call, route string) {
			downstream := newGate(t)
			defer fill(t, downstream)()
			far := memhttp.Start(t, handlerV1(nil))
			toFar := calls(far, downstream)[route]
			own := newGate(t)
			near := memhttp.Start(t, servers(own, work(toFar))[name])
			res, body := exchange(t, near, postUnary)
			checkUnaryHead(t, res, 429)
			checkError(t, body, "resource_exhausted", "LIMIT")
		})
	}
}

func TestClientStreamIsGivenBackWhenItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		s := memhttp.Start(t, handlerV1(nil))
		v1 := testv1connect.NewEchoServiceClient(s.ClientHTTP2(), s.URL, connect.WithInterceptors(connectgate.NewInterceptor(g)))
		v2 := testv1connectv2.NewEchoServiceClient(connectv2.NewClient(
			connecthttp.NewTransport(s.ClientHTTP2(), s.URL), connectgate.NewClientInterceptor(g)))
		for name, open := range map[string]func(context.Context) error{
			"v1": func(ctx context.Context) error { return v1.BidiStream(ctx).Send(&testv1.BidiStreamRequest{}) },
			"v2": func(ctx context.Context) error {
				stream, err := v2.BidiStream(ctx)
				return errors.Join(err, stream.Send(&testv1.BidiStreamRequest{}))
			},
		} {
			ctx, cancel := context.WithCancel(t.Context())
			if err := open(ctx); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if n := g.InFlight(); n != 1 {
				t.Errorf("%s: %d in flight while the stream is open", name, n)
			}
			cancel()
			synctest.Wait()
			if n := g.InFlight(); n != 0 {
				t.Errorf("%s: %d in flight after its context has ended", name, n)
			}
		}
	})
}

func TestClientStreamWithHoldOpeningHoldsToTheFirstResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		p, err := gate.NewPolicy(gate.Route("*", g).Stream(gate.HoldOpening))
		if err != nil {
			t.Fatal(err)
		}
		s := memhttp.Start(t, handlerV1(nil))
		client := testv1connect.NewEchoServiceClient(s.ClientHTTP2(), s.URL, connect.WithInterceptors(connectgate.NewInterceptor(p)))
		stream := client.BidiStream(t.Context())
		if err := stream.Send(&testv1.BidiStreamRequest{}); err != nil {
			t.Fatal(err)
		}
		if n := g.InFlight(); n != 1 {
			t.Errorf("%d in flight before the response", n)
		}
		if _, err := stream.Receive(); err != nil {
			t.Fatal(err)
		}
		if n := g.InFlight(); n != 0 {
			t.Errorf("%d in flight after the first response", n)
		}
		if err := stream.CloseRequest(); err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Receive(); !errors.Is(err, io.EOF) {
			t.Errorf("got %v at the end", err)
		}
		if err := stream.CloseResponse(); err != nil {
			t.Error(err)
		}
	})
}

func TestCallerThatLeavesAClientsGateIsCanceled(t *testing.T) {
	eachClient(t, func(t *testing.T, calls func(*memhttp.Server, gate.Admitter) map[string]call, route string) {
		g := newGate(t)
		s := memhttp.Start(t, handlerV1(nil))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := calls(s, g)[route](ctx)
		if codeOf(err) != 1 || !errors.Is(err, context.Canceled) || connectgate.IsLocal(err) {
			t.Errorf("got %v, want Canceled", err)
		}
	})
}
