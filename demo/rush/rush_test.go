package rush

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rpcgate/rpcgate/demo/server"
	"github.com/rpcgate/rpcgate/demo/store"
)

// The numbers of a rush depend on the machine. But on every machine each call is counted once, and the limit of the gate
// holds.
func TestRushAddsUp(t *testing.T) {
	t.Parallel()
	c := small(t)
	r, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	for name, side := range map[string]Side{"ungated": r.Ungated, "gated": r.Gated} {
		if want := c.Clients * c.Rounds(); side.Offered != want {
			t.Errorf("%s: offered %d, want %d", name, side.Offered, want)
		}
		if sum := side.AnsweredInTime + side.Late + side.Rejected + side.Failed; sum != side.Offered {
			t.Errorf("%s: the calls offered are %d, those counted by their end %d: %+v", name, side.Offered, sum, side)
		}
		if side.Failed > 0 {
			t.Errorf("%s: %d calls failed", name, side.Failed)
		}
	}
	if r.Ungated.Rejected > 0 || r.Ungated.Retried > 0 {
		t.Errorf("calls were refused without a gate: %+v", r.Ungated)
	}
	if int64(r.Gated.MaxInFlight) > c.Gate {
		t.Errorf("%d in flight behind a gate of %d", r.Gated.MaxInFlight, c.Gate)
	}
}

func TestRushCanBeCalledOff(t *testing.T) {
	t.Parallel()
	c := small(t)
	c.Duration = time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	c.Progress = func(line string) {
		if strings.HasPrefix(line, "without") {
			time.AfterFunc(50*time.Millisecond, cancel) // as Ctrl-C does
		}
	}
	if _, err := Run(ctx, c); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
}

func TestPlaySideSaysWhyItFailed(t *testing.T) {
	t.Parallel()
	c := small(t)
	c.Seed += ".gone"
	if _, err := playSide(t.Context(), c, nil); err == nil || !strings.Contains(err.Error(), ".gone") {
		t.Errorf("error %v, want one that names the file", err)
	}
}

func TestGatesFitTheDeadline(t *testing.T) {
	t.Parallel()
	c := config()
	g := c.gates()
	if g.RetryMin != 100*time.Millisecond || g.RetryMax != 300*time.Millisecond {
		t.Errorf("told to come back after %v to %v, want 100ms to 300ms", g.RetryMin, g.RetryMax)
	}
	if _, err := server.NewGates(g); err != nil {
		t.Error(err)
	}
}

func TestCheckNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		change func(*Config)
		want   string
	}{
		{func(*Config) {}, ""},
		{func(c *Config) { c.Clients = 0 }, "clients must be at least 1, got 0"},
		{func(c *Config) { c.Deadline = 0 }, "deadline must be at least 10ms, got 0s"},
		{func(c *Config) { c.Duration = c.Deadline - 1 }, "duration must be at least the deadline of 1s"},
		{func(c *Config) { c.Gate = -2 }, "gate must be at least 1, got -2"},
	} {
		c := config()
		tt.change(&c)
		err := c.Check()
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("error %v, want %q", err, tt.want)
		}
	}
}

func small(t *testing.T) Config {
	t.Helper()
	seed, err := store.Ensure(t.Context(), t.TempDir(), 2000, nil)
	if err != nil {
		t.Fatal(err)
	}
	return Config{
		Clients:  30,
		Deadline: 300 * time.Millisecond,
		Duration: 900 * time.Millisecond,
		Gate:     2,
		Seed:     seed,
		Progress: func(string) {},
	}
}

func TestDeadlineIsAMultipleOfTheQuery(t *testing.T) {
	t.Parallel()
	for query, want := range map[time.Duration]time.Duration{
		0:                       minDeadline,
		5 * time.Millisecond:    minDeadline,
		32 * time.Millisecond:   1900 * time.Millisecond,
		50 * time.Millisecond:   3 * time.Second,
		1000 * time.Millisecond: maxDeadline,
	} {
		if got := deadlineFor(query); got != want {
			t.Errorf("queries of %v: deadline %v, want %v", query, got, want)
		}
	}
	c := small(t)
	c.Duration = 200 * time.Millisecond
	if d, err := Deadline(t.Context(), c); err != nil || d != c.Duration {
		t.Errorf("deadline %v, error %v; want at most the duration of %v", d, err, c.Duration)
	}
}
