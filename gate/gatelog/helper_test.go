package gatelog_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/gate/gatelog"
)

// lines collects what is logged, a line each, without the time.
type lines struct {
	mu  sync.Mutex
	buf strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// take returns the lines so far and forgets them.
func (l *lines) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := strings.TrimSuffix(l.buf.String(), "\n")
	l.buf.Reset()
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

func (l *lines) logger(opts ...gatelog.Option) *gatelog.Logger {
	return gatelog.New(slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey && len(groups) == 0 {
				return slog.Attr{}
			}
			return a
		},
	})), opts...)
}

// expect compares the lines so far with the wanted ones.
func (l *lines) expect(t *testing.T, want ...string) {
	t.Helper()
	got := l.take()
	for i := range max(len(got), len(want)) {
		var g, w string
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			t.Errorf("line %d:\n got %s\nwant %s", i+1, g, w)
		}
	}
}

func accepted(route string) gate.Event {
	return gate.Event{
		Kind: gate.EventDecision, Gate: "db", Call: gate.Call{Route: route, RequestID: "r1"},
		Decision: gate.Accepted, InFlight: 3, Limit: 16,
	}
}

func rejected(route string) gate.Event {
	e := accepted(route)
	e.Decision, e.Reason = gate.RejectedBusy, gate.ReasonQueueFull
	e.InFlight, e.Waiting = 16, 16
	e.Rejection = &gate.Rejection{RetryDelay: 1500 * time.Millisecond, RequestID: "r1"}
	return e
}

func send(l *gatelog.Logger, n int, e gate.Event) {
	for range n {
		l.OnEvent(context.Background(), e)
	}
}

func mustPanic(t *testing.T, want string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if got, _ := recover().(string); got != want {
			t.Errorf("panic %q, want %q", got, want)
		}
	}()
	f()
}

// caller is a gate.Caller.
type caller struct{}

func (caller) Identify(context.Context) (requestID, remoteIP string) { return "asked", "10.1.1.1" }
