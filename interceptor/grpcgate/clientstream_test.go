package grpcgate_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/rpcgate/rpcgate/gate"
	testv1 "github.com/rpcgate/rpcgate/gen/rpcgate/test/v1"
	"github.com/rpcgate/rpcgate/interceptor/grpcgate"
	"github.com/rpcgate/rpcgate/internal/conformance"
	"github.com/rpcgate/rpcgate/internal/conformance/grpchost"
)

func wantInFlight(t *testing.T, g *gate.Gate, want int64) {
	t.Helper()
	synctest.Wait()
	if got := g.InFlight(); got != want {
		t.Errorf("%d in flight, want %d", got, want)
	}
}

// streamEnd is a way in which a client's stream ends.
type streamEnd func(t *testing.T, c testv1.EchoServiceClient, conn *grpc.ClientConn, g *gate.Gate)

// streamsUsed are those that end because the client uses the stream to its end.
func streamsUsed() map[string]streamEnd {
	return map[string]streamEnd{
		"half closed and received": func(t *testing.T, c testv1.EchoServiceClient, _ *grpc.ClientConn, g *gate.Gate) {
			stream, err := c.BidiStream(t.Context())
			must(t, err)
			must(t, stream.CloseSend())
			wantInFlight(t, g, 1)
			if _, err := stream.Recv(); err != io.EOF {
				t.Errorf("got %v, want io.EOF", err)
			}
		},
		"io.EOF": func(t *testing.T, c testv1.EchoServiceClient, _ *grpc.ClientConn, g *gate.Gate) {
			stream, err := c.BidiStream(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			must(t, stream.Send(&testv1.BidiStreamRequest{}))
			_, err = stream.Recv()
			must(t, err)
			must(t, stream.CloseSend())
			wantInFlight(t, g, 1)
			if _, err := stream.Recv(); err != io.EOF {
				t.Fatalf("got %v, want io.EOF", err)
			}
		},
		"one response": func(t *testing.T, c testv1.EchoServiceClient, _ *grpc.ClientConn, g *gate.Gate) {
			stream, err := c.ClientStream(t.Context())
			must(t, err)
			must(t, stream.Send(&testv1.ClientStreamRequest{}))
			wantInFlight(t, g, 1)
			_, err = stream.CloseAndRecv()
			must(t, err)
		},
		"error of the server": func(t *testing.T, c testv1.EchoServiceClient, _ *grpc.ClientConn, g *gate.Gate) {
			stream, err := c.ServerStream(t.Context(), &testv1.ServerStreamRequest{Text: "fail"})
			must(t, err)
			wantInFlight(t, g, 1)
			_, err = stream.Recv()
			wantCode(t, err, codes.Unknown)
		},
	}
}

// streamsLost are streams that are not used any more.
func streamsLost() map[string]streamEnd {
	return map[string]streamEnd{
		"context cancelled": func(t *testing.T, c testv1.EchoServiceClient, _ *grpc.ClientConn, g *gate.Gate) {
			ctx, cancel := context.WithCancel(t.Context())
			_, err := c.BidiStream(ctx)
			must(t, err)
			wantInFlight(t, g, 1)
			cancel() // and the stream is not used any more
		},
		"deadline": func(t *testing.T, c testv1.EchoServiceClient, _ *grpc.ClientConn, g *gate.Gate) {
			_, err := c.BidiStream(within(t, time.Second))
			must(t, err)
			time.Sleep(time.Second - time.Nanosecond)
			wantInFlight(t, g, 1)
			time.Sleep(time.Nanosecond)
		},
		"connection closed": func(t *testing.T, c testv1.EchoServiceClient, conn *grpc.ClientConn, g *gate.Gate) {
			_, err := c.BidiStream(t.Context())
			must(t, err)
			wantInFlight(t, g, 1)
			must(t, conn.Close()) // and the stream is not used any more
		},
		"cancelled before it began": func(t *testing.T, c testv1.EchoServiceClient, _ *grpc.ClientConn, _ *gate.Gate) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_, err := c.BidiStream(ctx)
			wantCode(t, err, codes.Canceled)
		},
	}
}

func TestClientsStreamHoldsItsLeaseUntilItHasEnded(t *testing.T) {
	ends := streamsUsed()
	maps.Copy(ends, streamsLost())
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				g := newGate(t, "downstream")
				s := grpc.NewServer()
				testv1.RegisterEchoServiceServer(s, grpchost.Service{Handler: failing})
				conn := dial(t, s, budget(g)...)
				end(t, testv1.NewEchoServiceClient(conn), conn, g)
				wantInFlight(t, g, 0)
			})
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// failing is an echo that fails when it is asked to.
func failing(ctx context.Context, shape conformance.Shape, s conformance.Stream) error {
	if shape != conformance.ServerStream {
		return conformance.Echo(ctx, shape, s)
	}
	if text, err := s.Recv(); err != nil || text == "fail" {
		return errors.Join(err, errors.New("failed on purpose"))
	}
	return nil
}

func TestClientsStreamThatIsRefusedIsNotOpened(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newGate(t, "downstream", gate.WithMaxWait(0))
		defer fill(t, g)()
		c := serve(t, nil, nil, budget(g)...)
		_, err := c.BidiStream(t.Context())
		wantCode(t, err, codes.ResourceExhausted)
		if !grpcgate.IsLocal(err) {
			t.Errorf("got %v, want a local refusal", err)
		}
	})
}

func TestClientsHoldOpeningEndsWithTheFirstResponse(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newGate(t, "downstream")
		p, err := gate.NewPolicy(gate.Route("*", g).Stream(gate.HoldOpening))
		must(t, err)
		c := serve(t, nil, nil, budget(p)...)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		stream, err := c.BidiStream(ctx)
		must(t, err)
		must(t, stream.Send(&testv1.BidiStreamRequest{}))
		wantInFlight(t, g, 1)
		_, err = stream.Recv()
		must(t, err)
		wantInFlight(t, g, 0)
	})
}

// An interceptor further in that tries again must not lose the lease to the
// failure of its first attempt.
func TestClientsStreamKeepsItsLeaseOverAttemptsFurtherIn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newGate(t, "downstream")
		again := grpc.WithChainStreamInterceptor(func(
			ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string,
			streamer grpc.Streamer, opts ...grpc.CallOption,
		) (grpc.ClientStream, error) {
			first, err := streamer(ctx, desc, cc, method, opts...)
			must(t, err)
			must(t, first.SendMsg(&testv1.ServerStreamRequest{Text: "fail"}))
			must(t, first.CloseSend())
			if err := first.RecvMsg(&testv1.ServerStreamResponse{}); err == nil {
				t.Error("the first attempt did not fail")
			}
			wantInFlight(t, g, 1)
			return streamer(ctx, desc, cc, method, opts...)
		})
		c := serve(t, failing, nil, append(budget(g), again)...)
		stream, err := c.ServerStream(t.Context(), &testv1.ServerStreamRequest{})
		must(t, err)
		wantInFlight(t, g, 1)
		if _, err := stream.Recv(); err != io.EOF {
			t.Errorf("got %v, want io.EOF", err)
		}
		wantInFlight(t, g, 0)
	})
}

func TestClientsStreamThatCannotBeOpenedReleasesItsLease(t *testing.T) {
	for name, streamer := range map[string]grpc.Streamer{
		"error": func(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string, ...grpc.CallOption) (grpc.ClientStream, error) {
			return nil, errors.New("failed on purpose")
		},
		"panic": func(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string, ...grpc.CallOption) (grpc.ClientStream, error) {
			panic("broken on purpose")
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGate(t, "downstream")
			defer func() {
				if r := recover(); (r != nil) != (name == "panic") {
					t.Errorf("recovered %v", r)
				}
				if n := g.InFlight(); n != 0 {
					t.Errorf("%d in flight", n)
				}
			}()
			_, err := grpcgate.StreamClientInterceptor(g)(t.Context(), &grpc.StreamDesc{}, nil, "/a.B/C", streamer)
			if err == nil {
				t.Error("no error")
			}
		})
	}
}
