package conformance

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

func messageCases() []Case {
	return []Case{
		{Name: "HoldMessageHoldsWhileAMessageIsWorkedOn", Shapes: []Shape{ClientStream, BidiStream}, Run: holdMessage},
		{Name: "HoldMessageHoldsForTheOneRequest", Shapes: []Shape{ServerStream}, Run: holdRequest},
		{Name: "HoldMessageRefusesAMessage", Shapes: []Shape{ClientStream, ServerStream, BidiStream}, Run: refuseMessage},
		{Name: "HoldMessageHandlerMayGoOnAfterARefusal", Shapes: []Shape{BidiStream}, Run: surviveRefusal},
		{Name: "HoldMessagePanicReleasesTheLease", Shapes: []Shape{ClientStream, ServerStream, BidiStream}, Run: panicMessage},
		{Name: "HoldMessageLateReceiverKeepsNothing", Shapes: []Shape{BidiStream}, Run: lateReceiver},
		{Name: "StreamThatEndsWellAfterARefusalCarriesNoDelay", Shapes: []Shape{ClientStream, BidiStream}, Run: endsWell},
	}
}

func holdMessage(e *Env) {
	g := e.gate()
	var steps []int64
	c := e.start(e.policy(g, gate.HoldMessage), watch(g, &steps))
	call := c.Open(e.Context(), e.Shape, nil)
	for range 2 {
		if err := call.Send("hello"); err != nil {
			e.Fatal(err)
		}
		e.inFlight(g, 0) // the handler waits for the next message
	}
	if err := call.CloseSend(); err != nil {
		e.Fatal(err)
	}
	for {
		if _, err := call.Recv(); err == io.EOF {
			break
		} else if err != nil {
			e.Fatal(err)
		}
	}
	if e.Shape == ClientStream {
		e.steps(steps, 0, 1, 1, 0, 0)
	} else {
		e.steps(steps, 0, 1, 1, 1, 1, 0)
	}
	e.totals(g, 2, 0, 0)
}

func holdRequest(e *Env) {
	g := e.gate()
	inside := int64(0)
	c := e.start(e.policy(g, gate.HoldMessage), func(_ context.Context, _ Shape, s Stream) error {
		text, err := s.Recv()
		inside = g.InFlight()
		if err != nil {
			return err
		}
		return s.Send(text)
	})
	e.mustCall(e.Context(), c)
	if inside != 1 {
		e.Errorf("%d in flight while the handler works on the request, want 1", inside)
	}
	e.totals(g, 1, 0, 0)
}

func refuseMessage(e *Env) {
	g := e.gate(gate.WithMaxWait(0))
	defer e.fill(g)()
	var received error
	c := e.start(e.policy(g, gate.HoldMessage), func(_ context.Context, _ Shape, s Stream) error {
		_, received = s.Recv()
		return received
	})
	e.checkRefusal(e.refused(e.Context(), c, nil), e.Shape, busy("LIMIT"))
	if received == nil && e.Shape != ServerStream { // then the request is received before the handler runs
		e.Error("Recv gave the handler the message")
	}
	e.totals(g, 1, 1, 0)
}

// surviveRefusal has a handler that goes on after two refusals and ends with the third.
// The client must get only one delay.
func surviveRefusal(e *Env) {
	g := e.gate(gate.WithMaxWait(0))
	release := e.fill(g)
	refusals := 0
	c := e.start(e.policy(g, gate.HoldMessage), func(_ context.Context, _ Shape, s Stream) error {
		for {
			text, err := s.Recv()
			switch {
			case err == io.EOF:
				return nil
			case err == nil:
				if err := s.Send(text); err != nil {
					return err
				}
			case refusals == 2:
				return err
			default:
				refusals++
				if err := s.Send("busy"); err != nil {
					return err
				}
			}
		}
	})
	ctx, cancel := context.WithCancel(e.Context())
	defer cancel()
	call := c.Open(ctx, e.Shape, nil)
	ask := func() (string, error) {
		if err := call.Send("hello"); err != nil {
			e.Fatal(err)
		}
		return call.Recv()
	}
	for _, want := range []string{"busy", "hello", "busy"} {
		if want == "hello" {
			release()
		}
		if got, err := ask(); err != nil || got != want {
			e.Fatalf("got %q and error %v, want %q", got, err, want)
		}
		if want == "hello" {
			e.inFlight(g, 0)
			release = e.fill(g)
		}
	}
	_, err := ask()
	e.checkRefusal(e.failure(err), e.Shape, expectation{
		code: codeResourceExhausted, http: 200, reason: "LIMIT",
		min: gate.DefaultMinRetryDelay, max: gate.DefaultMaxRetryDelay,
	})
	release()
}

func panicMessage(e *Env) {
	g := e.gate()
	c := e.start(e.policy(g, gate.HoldMessage), func(_ context.Context, _ Shape, s Stream) error {
		if _, err := s.Recv(); err != nil {
			return err
		}
		if n := g.InFlight(); n != 1 {
			e.Errorf("%d in flight, want 1", n)
		}
		panic("handler broken on purpose")
	})
	e.refused(e.Context(), c, nil)
	e.inFlight(g, 0)
}

// lateReceiver has a handler that returns while one of its goroutines still waits for
// the lease of a message.
func lateReceiver(e *Env) {
	g := e.gate(gate.WithMaxWait(time.Minute))
	release := e.fill(g)
	waiting, received := make(chan struct{}), make(chan error, 1)
	c := e.start(e.policy(g, gate.HoldMessage), func(_ context.Context, _ Shape, s Stream) error {
		go func() {
			_, err := s.Recv()
			received <- err
		}()
		<-waiting
		return nil
	})
	result := e.background(func() error {
		_, err := e.call(e.Context(), c, "hello")
		return err
	})
	if n := g.Waiting(); n != 1 {
		e.Errorf("%d waiting, want 1", n)
	}
	close(waiting)
	if err := result(); err != nil {
		e.Error(err)
	}
	release()
	<-received
	e.inFlight(g, 0)
}

// endsWell has a handler that answers although its message was refused.
func endsWell(e *Env) {
	g := e.gate(gate.WithMaxWait(0))
	defer e.fill(g)()
	var received error
	c := e.start(e.policy(g, gate.HoldMessage), func(_ context.Context, _ Shape, s Stream) error {
		_, received = s.Recv()
		return s.Send("from memory")
	})
	call := c.Open(e.Context(), e.Shape, nil)
	if got, err := finish(call, "hello"); err != nil || got != "from memory" {
		e.Fatalf("got %q and error %v, want the answer", got, err)
	}
	if !refused(received) {
		e.Errorf("Recv gave the handler error %v, want a rejection", received)
	}
	if pushback, retryAfter := call.Delays(); len(pushback)+len(retryAfter) > 0 {
		e.Errorf("pushback %q and Retry-After %q, want none: the call went well", pushback, retryAfter)
	}
	e.totals(g, 1, 1, 0)
}

// refused reports whether err tells a handler that its message was refused.
func refused(err error) bool {
	_, ok := errors.AsType[*gate.Rejection](err)
	return ok
}
