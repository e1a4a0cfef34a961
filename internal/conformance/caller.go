package conformance

import (
	"context"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

func callerCases() []Case {
	return []Case{
		{Name: "CallThatIsWrittenDownHasOneId", Run: writtenDown},
		{Name: "CallerThatLeavesWhileWaitingIsNoRejection", Run: cancelWaiting},
		{Name: "WaitEndsWithTheDeadlineOfTheCaller", Run: deadlineWaiting},
		{Name: "WaitLeavesHalfOfTheDeadlineForTheWork", Run: halfDeadline},
		{Name: "LeaseIsHeldUntilTheHandlerIsDone", Run: callerGone},
		{Name: "ContextOfTheHandlerEndsWithTheCall", Run: contextEnds},
		{Name: "MalformedRequestLeaksNoLease", Shapes: []Shape{Unary}, Run: malformed},
	}
}

func cancelWaiting(e *Env) {
	g := e.gate(gate.WithMaxWait(time.Minute))
	release := e.fill(g)
	defer release()
	c := e.start(g, e.unreachable())
	ctx, cancel := context.WithCancel(e.Context())
	defer cancel()
	result := e.background(func() error {
		_, err := e.call(ctx, c, "hello")
		return err
	})
	if n := g.Waiting(); n != 1 {
		e.Fatalf("%d waiting, want 1", n)
	}
	cancel()
	if f := e.failure(result()); e.Host.Carriers(e.Shape).Code && f.Code != codeCanceled {
		e.Errorf("got %v, want Canceled", f)
	}
	e.totals(g, 1, 0, 1)
	if n := g.Waiting(); n != 0 {
		e.Errorf("%d waiting after the caller has gone", n)
	}
}

func deadlineWaiting(e *Env) {
	g := e.gate(gate.WithMaxWait(time.Minute), gate.WithDeadlineShare(1))
	defer e.fill(g)()
	c := e.start(g, e.unreachable())
	ctx, cancel := context.WithTimeout(e.Context(), 2*time.Second)
	defer cancel()
	start := time.Now()
	f := e.refused(ctx, c, nil)
	// The wait ends at the same moment as the deadline.
	if e.Host.Carriers(e.Shape).Code && f.Code != codeDeadlineExceeded && f.Code != codeResourceExhausted {
		e.Errorf("got %v, want DeadlineExceeded", f)
	}
	e.took(start, 2*time.Second)
	synctest.Wait() // until the server has seen the deadline, too
}

func halfDeadline(e *Env) {
	g := e.gate(gate.WithMaxWait(time.Minute))
	defer e.fill(g)()
	c := e.start(g, e.unreachable())
	ctx, cancel := context.WithTimeout(e.Context(), 2*time.Second)
	defer cancel()
	start := time.Now()
	want := busy("WAIT_TIMEOUT")
	// One second is left, and the delay is at least that.
	want.noRetry = true
	e.checkRefusal(e.refused(ctx, c, nil), e.Shape, want)
	e.took(start, time.Second)
}

// callerGone has a handler that does not look at its context.
func callerGone(e *Env) {
	g := e.gate()
	hold := make(chan struct{})
	c := e.start(g, func(ctx context.Context, shape Shape, s Stream) error {
		<-hold
		return recvAll(s)
	})
	ctx, cancel := context.WithCancel(e.Context())
	defer cancel()
	result := e.background(func() error {
		_, err := e.call(ctx, c, "hello")
		return err
	})
	e.inFlight(g, 1)
	cancel()
	if f := e.failure(result()); e.Host.Carriers(e.Shape).Code && f.Code != codeCanceled {
		e.Errorf("got %v, want Canceled", f)
	}
	e.inFlight(g, 1)
	close(hold)
	e.inFlight(g, 0)
}

// contextEnds has handlers that work until their callers have gone, with all modes of
// streams, admitted at once, and after a wait with a deadline.
func contextEnds(e *Env) {
	for _, mode := range []gate.StreamMode{gate.HoldStream, gate.HoldOpening, gate.HoldMessage} {
		for _, waits := range []bool{false, true} {
			g := e.gate(gate.WithMaxWait(time.Minute))
			ended := false
			c := e.start(e.policy(g, mode), func(ctx context.Context, _ Shape, s Stream) error {
				if err := recvAll(s); err != nil {
					return err
				}
				select {
				case <-ctx.Done():
					ended = true
				case <-time.After(time.Hour):
				}
				return ctx.Err()
			})
			release := func() {}
			ctx, cancel := context.WithCancel(e.Context())
			if waits {
				release = e.fill(g)
				ctx, cancel = context.WithTimeout(e.Context(), time.Minute)
			}
			result := e.background(func() error {
				_, err := e.call(ctx, c, "hello")
				return err
			})
			time.Sleep(time.Second)
			release()
			synctest.Wait()
			cancel()
			e.failure(result())
			synctest.Wait()
			if !ended {
				e.Errorf("%s, wait %t: the handler's context has not ended", mode, waits)
				time.Sleep(time.Hour) // for the handler to give up
			}
		}
	}
}

func malformed(e *Env) {
	g := e.gate(gate.WithMaxWait(0))
	c := e.start(g, e.unreachable())
	for range 3 {
		e.failure(c.Malformed(e.Context()))
	}
	e.inFlight(g, 0)

	release := e.fill(g)
	defer release()
	f := e.failure(c.Malformed(e.Context()))
	if e.Host.BeforeDecode {
		e.checkRefusal(f, Unary, busy("LIMIT"))
		return
	}
	if can := e.Host.Carriers(Unary); can.Code && f.Code == codeResourceExhausted {
		e.Errorf("got %v: the host gates before the request is read, and does not say so", f)
	}
}

// writtenDown has an observer that writes down each call, as gatelog does for a sample.
func writtenDown(e *Env) {
	var ids []string
	write := gate.WithOnEvent(func(ctx context.Context, ev gate.Event) {
		if ev.Kind == gate.EventDecision {
			ids = append(ids, ev.Identified(ctx).RequestID)
		}
	})
	db := e.gate(write)
	g, err := gate.New("front", 1, write)
	if err != nil {
		e.Fatal(err)
	}
	c := e.start(g, func(ctx context.Context, shape Shape, s Stream) error {
		for _, h := range g.Snapshot().Holders {
			ids = append(ids, h.RequestID)
		}
		if err := db.Do(ctx, gate.Call{}, func(context.Context) error { return nil }); err != nil {
			return err
		}
		return Echo(ctx, shape, s)
	})
	for _, sent := range []string{"req-17", ""} {
		ids = nil
		if got, err := e.callWith(e.Context(), c, e.Shape, "hello", map[string]string{"x-request-id": sent}); err != nil || got != "hello" {
			e.Fatalf("got %q and error %v", got, err)
		}
		if len(ids) != 3 || ids[0] == "" || sent != "" && ids[0] != sent || ids[1] != ids[0] || ids[2] != ids[0] {
			e.Errorf("client sent %q: the decision, the holder and a gate in the handler have the ids %q, want one", sent, ids)
		}
	}
}
