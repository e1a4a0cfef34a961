package gatelog

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/gate/internal/clean"
	"github.com/rpcgate/rpcgate/gate/internal/era"
)

// Logger writes the decisions of gates to a log; see the package documentation.
// It serves any number of gates and is a [gate.Observer].
//
// All its methods are safe for concurrent use. Lines of detail are written on
// the goroutine of the call, so the [slog.Handler] should not block. Summaries
// are written by a timer, which runs only after an event. [WithMaxRoutes] bounds
// the memory.
type Logger struct {
	log    *slog.Logger
	config config
	clock  era.Clock

	gates   atomic.Pointer[map[string]*gateLog] // by name; replaced, never changed
	timing  atomic.Uint32                       // timingOff and so on
	closed  atomic.Bool
	changed atomic.Pointer[changed] // by SetDetail; nil: the options count

	writing sync.Mutex // held while summaries are taken and written

	mu     sync.Mutex // guards what follows and the changes to timing, and to gates and their rows
	ticker *ticker    // of the era of the last interval; nil: there was none
}

// New returns a Logger that writes to log. It panics if log is nil or an option
// has a bad value.
func New(log *slog.Logger, opts ...Option) *Logger {
	c, err := newConfig(opts)
	if log == nil {
		err = errors.Join(errors.New("New: want a logger, got nil"), err)
	}
	if err != nil {
		panic("gatelog: " + err.Error())
	}
	l := &Logger{log: log, config: c, clock: era.NewClock()}
	l.gates.Store(&map[string]*gateLog{})
	return l
}

// Interest returns [gate.ObserveAll], or [gate.ObserveNothing] after Close.
func (l *Logger) Interest(context.Context) gate.Interest {
	if l.closed.Load() {
		return gate.ObserveNothing
	}
	return gate.ObserveAll
}

// Same reports whether o is this Logger. A gate has a Logger only once, however
// often it is added; see [gate.UniqueObserver].
func (l *Logger) Same(o gate.Observer) bool { return o == gate.Observer(l) }

// OnEvent counts an event, and writes it if it belongs to the sample or to a
// burst. Use it with [gate.WithOnEvent]. After Close it does nothing.
func (l *Logger) OnEvent(ctx context.Context, e gate.Event) {
	cutOff := e.Kind == gate.EventRelease && e.Reason != 0
	if e.Kind != gate.EventDecision && e.Kind != gate.EventMaxHold && !cutOff || l.closed.Load() {
		return
	}
	rejected := e.Decision.Rejected()
	var now instant // read for rejections, in bursts and in bubbles
	if rejected || l.timing.Load() == timingInBubble {
		now = l.now()
		l.leave(now.era)
	}
	detail := l.detail(&now)
	g, r, sampled := l.count(&e, detail)
	if l.timing.Load() == timingOff { // after counting, so that no count is left behind
		l.arm()
	}
	switch {
	case cutOff:
	case e.Kind == gate.EventMaxHold:
		if g.mayDetail(detail.MaxDetails) {
			l.writeHeld(ctx, r, &e)
		} else {
			r.dropped.Add(1)
		}
	case g.inBurst(l, detail, now, rejected):
		l.writeDecision(ctx, r, &e, "burst")
	case !sampled:
	case g.mayDetail(detail.MaxDetails):
		l.writeDecision(ctx, r, &e, "sample")
	default:
		r.dropped.Add(1)
	}
}

// count adds the event to its row. It makes the row if there is none.
func (l *Logger) count(e *gate.Event, detail *Detail) (g *gateLog, r *row, sampled bool) {
	route := e.Call.Route
	switch {
	case e.Call.UnknownRoute:
		route = otherRoute
	case len(route) > clean.MaxLen:
		route = clean.String(route)
	}
	step := sampleStep(detail.SampleRate)
	for {
		g = (*l.gates.Load())[e.Gate]
		if g != nil {
			r = (*g.rows.Load())[route]
		}
		if g == nil || r == nil {
			g, r = l.grow(e.Gate, route)
		}
		if sampled, ok := r.add(e, step); ok {
			return g, r, sampled
		}
		// The row was given up after it was found. The next look finds or
		// makes another one.
	}
}
