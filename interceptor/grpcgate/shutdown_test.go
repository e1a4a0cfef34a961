package grpcgate_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/rpcgate/rpcgate/gate"
	testv1 "github.com/rpcgate/rpcgate/gen/rpcgate/test/v1"
	"github.com/rpcgate/rpcgate/interceptor"
	"github.com/rpcgate/rpcgate/interceptor/grpcgate"
	"github.com/rpcgate/rpcgate/internal/conformance"
	"github.com/rpcgate/rpcgate/internal/conformance/grpchost"
)

// serveHealth serves the echo service behind g, and its health.
func serveHealth(t *testing.T, g *gate.Gate, handler conformance.Handler, dial ...grpc.DialOption) (*grpc.Server, *health.Server, *grpc.ClientConn) {
	t.Helper()
	srv, probed := grpc.NewServer(grpcgate.ServerOptions(g)...), health.NewServer()
	testv1.RegisterEchoServiceServer(srv, grpchost.Service{Handler: handler})
	grpc_health_v1.RegisterHealthServer(srv, probed)
	return srv, probed, grpchost.Serve(t, srv, dial...)
}

// takes is a handler that takes the given time and minds nothing.
func takes(d time.Duration) conformance.Handler {
	return func(ctx context.Context, shape conformance.Shape, s conformance.Stream) error {
		time.Sleep(d)
		return conformance.Echo(ctx, shape, s)
	}
}

// begin makes a call on a goroutine of its own, and returns where its code will be.
func begin(ctx context.Context, conn *grpc.ClientConn) <-chan codes.Code {
	done := make(chan codes.Code, 1)
	go func() {
		_, err := testv1.NewEchoServiceClient(conn).Unary(ctx, &testv1.UnaryRequest{})
		done <- status.Code(err)
	}()
	synctest.Wait()
	return done
}

func TestShutdownServesTheCallsThatAreThere(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newGate(t, "db", gate.WithMaxWait(time.Minute))
		srv, probed, conn := serveHealth(t, g, takes(4*time.Second))
		check := func() grpc_health_v1.HealthCheckResponse_ServingStatus {
			res, err := grpc_health_v1.NewHealthClient(conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
			if err != nil {
				t.Fatal(err)
			}
			return res.GetStatus()
		}
		if got := check(); got != grpc_health_v1.HealthCheckResponse_SERVING {
			t.Errorf("health %s at first", got)
		}
		stopper := grpcgate.NewStopper(srv, interceptor.WithNotReady(probed.Shutdown), interceptor.WithGrace(5*time.Second))
		start := time.Now()
		stopped := make(chan error, 1)
		go func() { stopped <- stopper.Shutdown(t.Context(), g) }()
		time.Sleep(time.Second)
		if got := check(); got != grpc_health_v1.HealthCheckResponse_NOT_SERVING {
			t.Errorf("health %s in the grace", got)
		}
		inGrace, waiting := begin(t.Context(), conn), begin(t.Context(), conn)
		time.Sleep(4*time.Second + 50*time.Millisecond) // the first call is answered, the second in flight
		late := begin(t.Context(), conn)
		for what, call := range map[string]<-chan codes.Code{"in the grace": inGrace, "that waited": waiting} {
			if code := <-call; code != codes.OK {
				t.Errorf("the call %s got %s", what, code)
			}
		}
		if code := <-late; code != codes.Unavailable {
			t.Errorf("a call after GOAWAY got %s, want Unavailable: there is no server", code)
		}
		if err, took := <-stopped, time.Since(start); err != nil || took != 9*time.Second {
			t.Errorf("Shutdown returned %v after %s, want nil after 9s", err, took)
		}
	})
}

// TestStreamsEndWhenTheServerStops has streams that hold a lease, and ones that hold none.
func TestStreamsEndWhenTheServerStops(t *testing.T) {
	for _, mode := range []gate.StreamMode{gate.HoldStream, gate.HoldOpening, gate.HoldMessage} {
		bubble(t, func(t *testing.T) {
			g := newGate(t, "db")
			p, err := gate.NewPolicy(gate.Route("*", g).Stream(mode))
			if err != nil {
				t.Fatal(err)
			}
			srv := grpc.NewServer(grpcgate.ServerOptions(p)...)
			testv1.RegisterEchoServiceServer(srv, grpchost.Service{Handler: untilDrained(g)})
			stream, err := testv1.NewEchoServiceClient(grpchost.Serve(t, srv)).BidiStream(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := stream.Send(&testv1.BidiStreamRequest{Text: "hello"}); err != nil {
				t.Fatal(err)
			}
			if m, err := stream.Recv(); err != nil || m.GetText() != "hello" {
				t.Fatalf("got %q, error %v", m.GetText(), err)
			}
			start := time.Now()
			if err := grpcgate.Shutdown(t.Context(), srv, p.Gates()...); err != nil || time.Since(start) > time.Second {
				t.Errorf("mode %d: Shutdown returned %v after %s", mode, err, time.Since(start))
			}
			if m, err := stream.Recv(); err != nil || m.GetText() != "goodbye" {
				t.Errorf("mode %d: got %q, error %v, want goodbye", mode, m.GetText(), err)
			}
			if _, err := stream.Recv(); err != io.EOF {
				t.Errorf("mode %d: the stream ended with %v, want io.EOF", mode, err)
			}
		})
	}
}

// untilDrained answers one message, waits until the server stops, and says goodbye.
func untilDrained(g *gate.Gate) conformance.Handler {
	return func(ctx context.Context, _ conformance.Shape, s conformance.Stream) error {
		text, err := s.Recv()
		if err != nil {
			return err
		}
		if err := s.Send(text); err != nil {
			return err
		}
		lease, _ := gate.LeaseFromContext(ctx)
		draining := lease.Draining()
		if draining == nil { // HoldMessage: the zero Lease
			draining = g.Draining()
		}
		<-draining
		return s.Send("goodbye")
	}
}

func TestShutdownCutsOffCallsWhenItsContextEnds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newGate(t, "db", gate.WithMaxWait(time.Hour))
		// A handler that ignored the end of its context would keep grpc-go's mutex, and with it the time of the bubble.
		srv, _, conn := serveHealth(t, g, func(ctx context.Context, _ conformance.Shape, _ conformance.Stream) error {
			<-ctx.Done()
			return ctx.Err()
		})
		inFlight, waiting := begin(t.Context(), conn), begin(t.Context(), conn)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		start := time.Now()
		err := grpcgate.Shutdown(ctx, srv, g)
		const want = `grpcgate: Shutdown: gate "db": 1 units in flight, 1 calls waiting: context deadline exceeded`
		if err == nil || err.Error() != want || !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 10*time.Second {
			t.Errorf("got %v after %s, want %s", err, time.Since(start), want)
		}
		if a, b := <-inFlight, <-waiting; a != codes.Unavailable || b != codes.Unavailable {
			t.Errorf("the calls ended with %s and %s, want Unavailable", a, b)
		}
	})
}

// TestShutdownDoesNotWaitForAHandlerThatNobodyCanStop has a client that has closed its connection. GracefulStop waits for
// the handler, and up to grpc-go 1.84 Stop waits for GracefulStop: for a mutex, so time in this test is real.
func TestShutdownDoesNotWaitForAHandlerThatNobodyCanStop(t *testing.T) {
	g := gate.Must(gate.New("db", 1))
	inside, end := make(chan struct{}), make(chan struct{})
	srv, _, conn := serveHealth(t, g, func(context.Context, conformance.Shape, conformance.Stream) error {
		close(inside)
		<-end
		return nil
	})
	go func() { _, _ = testv1.NewEchoServiceClient(conn).Unary(t.Context(), &testv1.UnaryRequest{}) }()
	<-inside
	_ = conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := grpcgate.Shutdown(ctx, srv, g); !errors.Is(err, context.DeadlineExceeded) { // or it does not return
		t.Errorf("Shutdown returned %v, want DeadlineExceeded", err)
	}
	close(end)
}

// TestWatchersOfHealth has clients that watch the health of the server as long as it lives.
func TestWatchersOfHealth(t *testing.T) {
	t.Run("grpc-go's own end with their connection", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			g := newGate(t, "db")
			srv, probed, conn := serveHealth(t, g, takes(time.Second), grpc.WithDefaultServiceConfig(
				`{"loadBalancingConfig": [{"round_robin": {}}], "healthCheckConfig": {"serviceName": ""}}`))
			call := begin(t.Context(), conn)
			stopper := grpcgate.NewStopper(srv, interceptor.WithNotReady(probed.Shutdown))
			if err := stopper.Shutdown(t.Context(), g); err != nil {
				t.Error(err)
			}
			if code := <-call; code != codes.OK {
				t.Errorf("the call got %s", code)
			}
		})
	})
	t.Run("others are cut off", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			g := newGate(t, "db")
			srv, _, conn := serveHealth(t, g, takes(0))
			if _, err := grpc_health_v1.NewHealthClient(conn).Watch(t.Context(), &grpc_health_v1.HealthCheckRequest{}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			const want = "grpcgate: Shutdown: calls in flight that hold no lease: context deadline exceeded"
			if err := grpcgate.Shutdown(ctx, srv, g); err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	})
}

func TestMistakesOfAStopperPanic(t *testing.T) {
	defer func() {
		const want = "grpcgate: NewStopper: want a server, got nil\n" +
			"grpcgate: WithNotReady: want a function, got nil\n" +
			"grpcgate: WithGrace: want a time of 0 or more, got -1s\n" +
			"grpcgate: option 2: want an Option, got nil"
		if got := recover(); got != want {
			t.Errorf("got the panic\n%v\nwant\n%s", got, want)
		}
	}()
	grpcgate.NewStopper(nil, interceptor.WithNotReady(nil), interceptor.WithGrace(-time.Second), nil)
}
