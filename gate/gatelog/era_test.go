package gatelog_test

import (
	"context"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcgate/rpcgate/gate/gatelog"
	"github.com/rpcgate/rpcgate/internal/eras"
)

// told is a slog.Handler that sends the lines to a channel of the era.
type told struct {
	mu    sync.Mutex
	lines chan string
}

// begin makes the channel, for an era that begins.
func (h *told) begin() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines = make(chan string, 9)
}

func (h *told) send(line string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines <- line
}

func (*told) Enabled(context.Context, slog.Level) bool { return true }
func (h *told) WithAttrs([]slog.Attr) slog.Handler     { return h }
func (h *told) WithGroup(string) slog.Handler          { return h }

func (h *told) Handle(_ context.Context, r slog.Record) error {
	line := r.Message
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "accepted", "rejected", "detail":
			line += " " + a.String()
		case "interval_s":
			if line += " interval"; a.Value.Float64() < 0 || a.Value.Float64() > time.Hour.Seconds() {
				line += "=" + a.Value.String()
			}
		}
		return true
	})
	h.send(line)
	return nil
}

// next checks the next lines.
func (h *told) next(t *testing.T, want ...string) {
	t.Helper()
	for _, w := range want {
		if got := <-h.lines; got != w {
			t.Errorf("got  %s\nwant %s", got, w)
		}
	}
}

// TestALoggerServesBubblesAndTheRealClock has one Logger, such as a package's variable, write a burst and a summary in
// each era.
func TestALoggerServesBubblesAndTheRealClock(t *testing.T) {
	h := &told{}
	l := gatelog.New(slog.New(h), gatelog.WithInterval(5*time.Millisecond), gatelog.WithSampleRate(0), gatelog.WithBurst(1, time.Hour))
	eras.Each(t, func(t *testing.T) {
		h.begin()
		for range 2 {
			send(l, 1, rejected("/a/b"))
			h.next(t, "gate decision detail=burst", "gate summary accepted=0 rejected=1 interval")
			time.AfterFunc(10*time.Millisecond, func() { h.send("an interval without a rejection") })
			h.next(t, "an interval without a rejection")
		}
	})
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// TestWhatAnEraHasLeftIsWrittenInTheNextOne leaves an interval open. Its timer is set, and belongs to an era that is over
// or has been left.
func TestWhatAnEraHasLeftIsWrittenInTheNextOne(t *testing.T) {
	for name, end := range map[string]func(l *gatelog.Logger, h *told){
		"a rejected call": func(l *gatelog.Logger, h *told) { send(l, 1, rejected("/a/b")) },
		"Flush":           func(l *gatelog.Logger, h *told) { l.Flush(context.Background()) },
		"Close":           func(l *gatelog.Logger, h *told) { _ = l.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			h := &told{}
			var l *gatelog.Logger
			eras.Each(t, func(t *testing.T) {
				h.begin()
				if l != nil {
					end(l, h)
					h.next(t, "gate summary accepted=1 rejected=1")
				}
				l = gatelog.New(slog.New(h), gatelog.WithInterval(time.Hour), gatelog.WithSampleRate(0), gatelog.WithBurst(0, time.Hour))
				send(l, 1, rejected("/a/b"))
				send(l, 1, accepted("/a/b"))
			})
		})
	}
}

// TestATimerOfAnotherEraWritesNothing lets a timer of real time fire while an interval of a bubble is open.
func TestATimerOfAnotherEraWritesNothing(t *testing.T) {
	const interval = 20 * time.Millisecond
	h := &told{}
	h.begin()
	l := gatelog.New(slog.New(h), gatelog.WithInterval(interval), gatelog.WithSampleRate(0), gatelog.WithBurst(0, time.Hour))
	fired := make(chan struct{})
	send(l, 1, accepted("/a/b"))
	time.AfterFunc(2*interval, func() { close(fired) })
	synctest.Test(t, func(t *testing.T) {
		send(l, 1, rejected("/a/b"))
		if got := <-h.lines; !strings.HasPrefix(got, "gate summary accepted=1 rejected=0") {
			t.Errorf("got %s, want what was counted outside", got)
		}
		h.begin()
		for open := true; open; runtime.Gosched() {
			select {
			case <-fired:
				open = false
			default:
			}
		}
		if len(h.lines) != 0 {
			t.Errorf("got %s, want nothing: no time has passed in the bubble", <-h.lines)
		}
		h.next(t, "gate summary accepted=0 rejected=1 interval")
	})
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

func TestALoggerGoesOnWhereABubbleHasEnded(t *testing.T) {
	h := &told{}
	h.begin()
	l := gatelog.New(slog.New(h), gatelog.WithInterval(5*time.Millisecond), gatelog.WithSampleRate(0))
	synctest.Test(t, func(*testing.T) { send(l, 3, accepted("/a/b")) }) // its timer never fires
	send(l, 1, accepted("/a/b"))
	h.next(t, "gate summary accepted=3 rejected=0", "gate summary accepted=1 rejected=0 interval")
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// TestAdmittedCallsInABubbleCountInTheIntervalThatHasBegun is what the documentation says about them.
func TestAdmittedCallsInABubbleCountInTheIntervalThatHasBegun(t *testing.T) {
	h := &told{}
	h.begin()
	l := gatelog.New(slog.New(h), gatelog.WithInterval(time.Hour), gatelog.WithSampleRate(0))
	send(l, 1, accepted("/a/b"))
	synctest.Test(t, func(t *testing.T) {
		send(l, 2, accepted("/a/b"))
		<-time.After(2 * time.Hour)
		synctest.Wait()
		if len(h.lines) != 0 {
			t.Errorf("got %s, want nothing before Flush", <-h.lines)
		}
		l.Flush(t.Context())
		h.next(t, "gate summary accepted=3 rejected=0")
	})
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
