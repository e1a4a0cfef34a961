package conformance

import (
	"context"
	"io"
	"sync"
	"sync/atomic"

	"github.com/rpcgate/rpcgate/gate"
)

func atOnceCases() []Case {
	bidi := []Shape{BidiStream}
	return []Case{
		{Name: "HoldStreamSendsAndReceivesAtOnce", Shapes: bidi, Run: streamAtOnce(gate.HoldStream)},
		{Name: "HoldOpeningSendsAndReceivesAtOnce", Shapes: bidi, Run: streamAtOnce(gate.HoldOpening)},
		{Name: "HoldMessageSendsAndReceivesAtOnce", Shapes: bidi, Run: messagesAtOnce},
	}
}

// The number of concurrent streams, and of messages in each direction. With these
// the race detector finds data that two goroutines share.
const (
	atOnceStreams  = 4
	atOnceMessages = 8
)

// streamAtOnce has streams that are all admitted.
func streamAtOnce(mode gate.StreamMode) func(*Env) {
	return func(e *Env) {
		g := e.gateOf(atOnceStreams)
		c := e.start(e.policy(g, mode), func(_ context.Context, _ Shape, s Stream) error {
			_, err := sendAndReceive(s)
			return err
		})
		for _, err := range e.exchanges(c) {
			if err != nil {
				e.Errorf("a stream failed: %v", err)
			}
		}
		e.inFlight(g, 0)
	}
}

// messagesAtOnce has streams whose messages are refused: those that find no free unit,
// then all of them. Their handlers read to the end of the stream. They ignore all
// refusals, or return the last one.
func messagesAtOnce(e *Env) {
	g := e.gateOf(2, gate.WithMaxWait(0))
	var returns atomic.Bool
	c := e.start(e.policy(g, gate.HoldMessage), func(_ context.Context, _ Shape, s Stream) error {
		refusal, err := sendAndReceive(s)
		if err == nil && returns.Load() {
			return refusal
		}
		return err
	})
	for _, full := range []bool{false, true} {
		if full {
			defer e.fill(g)()
			defer e.fill(g)()
		}
		for _, returned := range []bool{false, true} {
			returns.Store(returned)
			for _, err := range e.exchanges(c) {
				switch {
				case err != nil && returned:
					e.checkRefusal(e.failure(err), BidiStream, busy("LIMIT"))
				case err != nil:
					e.Errorf("a stream whose handler goes on after refusals failed: %v", err)
				case full && returned:
					e.Error("a stream whose handler returned a refusal went well")
				}
			}
		}
	}
}

// sendAndReceive sends on one goroutine and receives on another, which all hosts
// allow. It returns the last refusal of a message.
func sendAndReceive(s Stream) (refusal, err error) {
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		for range atOnceMessages {
			if s.Send("tick") != nil {
				return
			}
		}
	})
	for {
		_, err := s.Recv()
		switch {
		case err == io.EOF:
			return refusal, nil
		case refused(err):
			refusal = err
		case err != nil:
			return refusal, err
		}
	}
}

// exchanges makes concurrent streams, which send and receive at once, and returns their
// errors.
func (e *Env) exchanges(c Client) [atOnceStreams]error {
	var errs [atOnceStreams]error
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			call := c.Open(e.Context(), BidiStream, nil)
			wg.Go(func() {
				for range atOnceMessages {
					if call.Send("tock") != nil { // Recv has the error
						return
					}
				}
				_ = call.CloseSend()
			})
			_, errs[i] = last(call)
		})
	}
	wg.Wait()
	return errs
}
