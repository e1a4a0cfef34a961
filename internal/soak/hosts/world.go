package hosts

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/internal/conformance"
)

// world is a server, its gates, and what is known of them.
type world struct {
	host   conformance.Host
	client conformance.Client
	policy *gate.Policy
	gates  []*watched
	inner  *watched // of handlers that acquire by themselves

	answered, refused, failed, bodies, inPart, innocents, again, drained, reopened atomic.Uint64

	mu       sync.Mutex
	slowest  time.Duration
	problems []string
}

// watched is a gate with counts of its own.
type watched struct {
	*gate.Gate
	most   int64 // the highest limit that it ever has
	inside atomic.Int64
	told   [gate.Abandoned + 1]atomic.Uint64
}

// modes are what each shape has its lease for.
var modes = map[conformance.Shape]gate.StreamMode{
	conformance.ClientStream: gate.HoldStream,
	conformance.ServerStream: gate.HoldOpening,
	conformance.BidiStream:   gate.HoldMessage,
}

// newWorld makes a gate for each shape, and one that unary calls and client streams share.
func newWorld(h conformance.Host) (*world, error) {
	w := &world{host: h}
	var rules []gate.Rule
	shared, err := w.add("shared", 4)
	for _, shape := range conformance.Shapes() {
		own, ownErr := w.add(strings.ToLower(shape.String()), 3)
		err = errors.Join(err, ownErr)
		if err != nil {
			return nil, err
		}
		chain := []*gate.Gate{own.Gate}
		if shape == conformance.Unary || shape == conformance.ClientStream {
			chain = append(chain, shared.Gate)
		}
		rule := gate.Route(shape.Route(), chain...)
		if mode, ok := modes[shape]; ok {
			rule = rule.Stream(mode)
		}
		rules = append(rules, rule)
	}
	if w.inner, err = w.add("inner", 1); err != nil {
		return nil, err
	}
	w.policy, err = gate.NewPolicy(rules...)
	return w, err
}

func (w *world) add(name string, limit int64) (*watched, error) {
	g := &watched{most: limit}
	made, err := gate.New(name, limit, gate.WithMaxWait(5*time.Millisecond), gate.WithMaxWaiting(6),
		gate.WithRetryDelay(time.Millisecond, 5*time.Millisecond),
		gate.WithOnEvent(func(_ context.Context, e gate.Event) {
			if e.Kind == gate.EventDecision {
				g.told[e.Decision].Add(1)
			}
		}))
	g.Gate = made
	w.gates = append(w.gates, g)
	return g, err
}

// of are the gates that a call of the shape goes through.
func (w *world) of(shape conformance.Shape) []*watched {
	own := w.gates[1+int(shape)]
	if shape == conformance.Unary || shape == conformance.ClientStream {
		return []*watched{w.gates[0], own}
	}
	return []*watched{own}
}

func (w *world) problem(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.problems = append(w.problems, fmt.Sprintf(format, args...))
}

// settle waits until the handlers of calls that clients have given up have ended.
func (w *world) settle() {
	eventually(func() bool {
		for _, g := range w.gates {
			if g.InFlight() != 0 || g.Waiting() != 0 {
				return false
			}
		}
		return true
	})
}

// finish checks what is left, which must be nothing, and what was counted.
func (w *world) finish() {
	for _, g := range w.gates {
		s := g.Snapshot()
		if s.InFlight != 0 || s.Waiting != 0 || s.Keys != 0 || len(s.Holders) != 0 || g.inside.Load() != 0 {
			w.problem("gate %s at the end: %d in its handlers, and %+v; want nothing in flight or waiting",
				g.Name(), g.inside.Load(), s)
		}
		for d, counted := range map[gate.Decision]uint64{
			gate.Accepted: s.Totals.Accepted, gate.RejectedBusy: s.Totals.RejectedBusy,
			gate.RejectedTimeout: s.Totals.RejectedTimeout, gate.Abandoned: s.Totals.Abandoned,
		} {
			if told := g.told[d].Load(); told != counted {
				w.problem("gate %s: %d %s were told and %d counted", g.Name(), told, d, counted)
			}
		}
	}
	if !w.seenAll() {
		w.problem("not everything has happened")
	}
}

// seenAll reports whether each kind of outcome has happened.
func (w *world) seenAll() bool {
	return w.answered.Load() > 0 && w.refused.Load() > 0 && w.innocents.Load() > 0 && w.drained.Load() > 0
}

func (w *world) counts() Counts {
	tooSlow := uint64(0)
	for _, g := range w.gates {
		for _, n := range g.Snapshot().Totals.CutOff {
			tooSlow += n
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return Counts{
		Answered: w.answered.Load(), Refused: w.refused.Load(), Failed: w.failed.Load(),
		Bodies: w.bodies.Load(), InPart: w.inPart.Load(), TooSlow: tooSlow, Innocent: w.innocents.Load(), Again: w.again.Load(), Slowest: w.slowest,
		Drained: w.drained.Load(), Reopened: w.reopened.Load(),
	}
}

// verdict joins the problems, at most some of them.
func (w *world) verdict() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.problems) == 0 {
		return nil
	}
	return fmt.Errorf("%d problems:\n%s", len(w.problems), strings.Join(w.problems[:min(len(w.problems), 10)], "\n"))
}
