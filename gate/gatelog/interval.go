package gatelog

import (
	"context"
	"sync"
	"time"

	"github.com/rpcgate/rpcgate/gate/internal/era"
)

// The values of Logger.timing.
const (
	timingOff      uint32 = iota // no interval has begun
	timingReal                   // one of real time has
	timingInBubble               // one of a bubble of testing/synctest has; the bubble may be over
)

// ticker ends the intervals of one era. A Logger leaves it when it comes to another
// era, even if its timer is set: a timer of a bubble must not be touched elsewhere, and
// never fires once the bubble is over.
type ticker struct {
	era    era.Era
	timers sync.WaitGroup // that are set or running
	timer  *time.Timer
	since  time.Time // when the interval began
}

// instant is a time on the Logger's scale.
type instant struct {
	at   time.Duration
	era  era.Era
	read bool // and not zero
}

func (l *Logger) now() instant {
	at, e := l.clock.Now()
	return instant{at, e, true}
}

// leave ends an interval that has begun in another era than now. What was counted
// there is not mixed with what comes.
func (l *Logger) leave(now era.Era) {
	if now == era.Real && l.timing.Load() != timingInBubble {
		return
	}
	l.mu.Lock()
	stale := l.timing.Load() != timingOff && !l.ticker.era.Same(now)
	l.mu.Unlock()
	if stale {
		l.Flush(context.Background())
	}
}

// arm begins an interval and sets the timer that writes the summaries at its end. In a
// bubble that cannot be told from others there are no timers.
func (l *Logger) arm() {
	now := time.Now()
	e := era.Of(now)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timing.Load() != timingOff || l.closed.Load() || e == era.Unknown {
		return
	}
	if l.ticker == nil || l.ticker.era != e {
		l.ticker = &ticker{era: e}
	}
	t := l.ticker
	t.since = now
	t.timers.Add(1)
	t.timer = time.AfterFunc(l.config.interval, func() {
		defer t.timers.Done()
		l.flush(context.Background(), t)
	})
	if e == era.Real {
		l.timing.Store(timingReal)
	} else {
		l.timing.Store(timingInBubble)
	}
}

// unknownInterval is the length of an interval that has begun in another era.
const unknownInterval = -1

// disarm ends the interval and returns its length. If a timer asks for it, by is the
// timer's ticker: it is not ok if the Logger has left that.
func (l *Logger) disarm(by *ticker) (length time.Duration, ok bool) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.ticker
	if by != nil && by != t {
		return 0, false
	}
	if l.timing.Load() == timingOff {
		return 0, true
	}
	l.timing.Store(timingOff)
	if !t.era.Same(era.Of(now)) {
		l.ticker = nil
		return unknownInterval, true
	}
	if t.timer.Stop() {
		t.timers.Done()
	}
	return now.Sub(t.since), true
}

// wait waits for the timers of this era that are running.
func (l *Logger) wait() {
	l.mu.Lock()
	t := l.ticker
	l.mu.Unlock()
	if t != nil && t.era.Same(era.Of(time.Now())) {
		t.timers.Wait()
	}
}
