package gatelog

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/gate/internal/clean"
)

// Logger writes what gates decide to a log; see the package's documentation. It
// serves any number of gates and is a [gate.Observer].
//
// All its methods are safe for concurrent use. Lines of detail are written on
// the goroutine of the call, so the [slog.Handler] should not block; summaries
// are written by a timer that runs only after something happened. The memory is
// bounded: see [WithMaxRoutes].
type Logger struct {
	log    *slog.Logger
	config config
	base   time.Time // what now counts from

	gates  atomic.Pointer[map[string]*gateLog] // by name; replaced, never changed
	armed  atomic.Bool                         // the timer runs
	closed atomic.Bool

	writing sync.Mutex     // held while summaries are taken and written
	timers  sync.WaitGroup // timers that run

	mu    sync.Mutex // guards what follows and the changes to gates and their rows
	timer *time.Timer
	since time.Time // the beginning of the interval
}

// New makes a Logger that writes to log. It panics if log is nil; see [Option]
// for bad options.
func New(log *slog.Logger, opts ...Option) *Logger {
	if log == nil {
		misuse("New: the logger is nil")
	}
	l := &Logger{log: log, config: newConfig(opts), base: time.Now()}
	l.gates.Store(&map[string]*gateLog{})
	return l
}

// Interest is everything until Close, then nothing. It makes a Logger a
// [gate.Observer].
func (l *Logger) Interest(context.Context) gate.Interest {
	if l.closed.Load() {
		return gate.ObserveNothing
	}
	return gate.ObserveAll
}

// Same makes a Logger a [gate.UniqueObserver], so that it observes a gate only
// once.
func (l *Logger) Same(o gate.Observer) bool { return o == gate.Observer(l) }

// OnEvent counts an event, and writes it if it is in the sample or in a burst.
// It is made for [gate.WithOnEvent]. After Close it does nothing.
func (l *Logger) OnEvent(ctx context.Context, e gate.Event) {
	if e.Kind == gate.EventRelease || l.closed.Load() {
		return
	}
	g, r, sampled := l.count(&e)
	if !l.armed.Load() { // after counting, so that no count is left behind
		l.arm()
	}
	switch {
	case e.Kind == gate.EventMaxHold:
		if g.mayDetail(l.config.maxDetails) {
			l.writeHeld(ctx, r, &e)
		} else {
			r.dropped.Add(1)
		}
	case g.inBurst(l, e.Decision.Rejected()):
		l.writeDecision(ctx, r, &e, "burst")
	case !sampled:
	case g.mayDetail(l.config.maxDetails):
		l.writeDecision(ctx, r, &e, "sample")
	default:
		r.dropped.Add(1)
	}
}

// count adds the event to its row, which it makes if need be.
func (l *Logger) count(e *gate.Event) (g *gateLog, r *row, sampled bool) {
	route := e.Call.Route
	switch {
	case e.Call.UnknownRoute:
		route = otherRoute
	case len(route) > clean.MaxLen:
		route = clean.String(route)
	}
	for {
		g = (*l.gates.Load())[e.Gate]
		if g != nil {
			r = (*g.rows.Load())[route]
		}
		if g == nil || r == nil {
			g, r = l.grow(e.Gate, route)
		}
		if sampled, ok := r.add(e, l.config.sampleStep); ok {
			return g, r, sampled
		}
		// The row was given up since it was looked up: there is a new one, or
		// will be.
	}
}

// now is the time since the Logger was made.
func (l *Logger) now() time.Duration { return time.Since(l.base) }
