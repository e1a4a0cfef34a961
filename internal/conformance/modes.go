package conformance

import (
	"context"

	"github.com/rpcgate/rpcgate/gate"
)

func modeCases() []Case {
	return []Case{
		{Name: "HoldStreamHoldsToTheEnd", Run: holdStream},
		{Name: "HoldOpeningHoldsToTheFirstResponse", Shapes: []Shape{ServerStream, BidiStream}, Run: holdOpening},
		{Name: "ModesOfStreamsDoNotTouchUnaryCalls", Shapes: []Shape{Unary}, Run: modesUnary},
	}
}

// watch returns a handler like Echo that notes how many units are in flight at each
// step: at its start, after each message received, after each one sent.
func watch(g *gate.Gate, steps *[]int64) Handler {
	return func(ctx context.Context, shape Shape, s Stream) error {
		note := func() { *steps = append(*steps, g.InFlight()) }
		note()
		return Echo(ctx, shape, noting{s, note})
	}
}

type noting struct {
	Stream
	note func()
}

func (s noting) Recv() (string, error) {
	text, err := s.Stream.Recv()
	s.note()
	return text, err
}

func (s noting) Send(text string) error {
	err := s.Stream.Send(text)
	s.note()
	return err
}

func (e *Env) steps(got []int64, want ...int64) {
	e.Helper()
	if len(got) != len(want) {
		e.Fatalf("in flight at each step: %v, want %v", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			e.Fatalf("in flight at each step: %v, want %v", got, want)
		}
	}
}

func holdStream(e *Env) {
	g := e.gate()
	var steps []int64
	e.mustCall(e.Context(), e.start(e.policy(g, gate.HoldStream), watch(g, &steps)))
	e.steps(steps, 1, 1, 1, 1) // start, message, and Send and io.EOF in either order
}

func holdOpening(e *Env) {
	g := e.gate()
	var steps []int64
	e.mustCall(e.Context(), e.start(e.policy(g, gate.HoldOpening), watch(g, &steps)))
	e.steps(steps, 1, 1, 0, 0)
	e.totals(g, 1, 0, 0)
}

func modesUnary(e *Env) {
	for _, mode := range []gate.StreamMode{gate.HoldOpening, gate.HoldMessage} {
		g := e.gate()
		inside := int64(0)
		c := e.start(e.policy(g, mode), func(ctx context.Context, shape Shape, s Stream) error {
			inside = g.InFlight()
			return Echo(ctx, shape, s)
		})
		e.mustCall(e.Context(), c)
		if inside != 1 {
			e.Errorf("%s: %d in flight in a unary call, want 1", mode, inside)
		}
	}
}
