package main

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/rpcgate/rpcgate/demo/server"
)

func TestMistakesInTheCommandLine(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ args, want string }{
		{"march", `unknown command "march"`},
		{"rush now", `unexpected argument "now"`},
		{"serve now", `unexpected argument "now"`},
		{"-speed 3", "-speed"},
		{"rush -clients 0", `invalid value "0" for flag -clients: want a number from 1 to`},
		{"rush -clients many", `invalid value "many" for flag -clients`},
		{"rush -gate -1", `invalid value "-1" for flag -gate`},
		{"rush -deadline 1", `invalid value "1" for flag -deadline`},
		{"rush -deadline -1s", `invalid value "-1s" for flag -deadline`},
		{"rush -duration 1h", `invalid value "1h" for flag -duration`},
		{"rush -duration 2s -deadline 3s", `invalid value "2s" for flag -duration: want at least the deadline of 3s`},
		{"rush -json=perhaps", `invalid boolean value "perhaps" for -json`},
		{"-gate 0", `invalid value "0" for flag -gate`},
		{"serve -reports x", `invalid value "x" for flag -reports`},
		{"serve -proxy-timeout 30", `invalid value "30" for flag -proxy-timeout: want a time from 1ms to 24h0m0s`},
		{"serve -control-host ops:80", `invalid value "ops:80" for flag -control-host: want a name or an IPv4 address`},
		{"serve -addr nowhere", `invalid value "nowhere" for flag -addr`},
	} {
		var stderr strings.Builder
		code := run(t.Context(), strings.Fields(tt.args), unwritten{t}, &stderr)
		if code != exitUsage {
			t.Errorf("%s: exit %d, want %d", tt.args, code, exitUsage)
		}
		if !strings.Contains(stderr.String(), tt.want) || strings.Count(stderr.String(), "\n") != 1 {
			t.Errorf("%s: want one line with %q, got %q", tt.args, tt.want, stderr.String())
		}
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	for args, flag := range map[string]string{"-h": "-addr address", "rush -h": "-clients number"} {
		var stdout strings.Builder
		if code := run(t.Context(), strings.Fields(args), &stdout, io.Discard); code != exitOK {
			t.Errorf("%s: exit %d, want 0", args, code)
		}
		for _, want := range []string{flag, "rpcgate-demo"} {
			if !strings.Contains(stdout.String(), want) {
				t.Errorf("%s: help lacks %q:\n%s", args, want, stdout.String())
			}
		}
	}
}

func TestRushFlags(t *testing.T) {
	t.Parallel()
	c, asJSON, err := rushFlags(nil, io.Discard)
	if err != nil || asJSON {
		t.Fatalf("json %v, error %v", asJSON, err)
	}
	if c.Clients != 300 || c.Deadline != 0 || c.Gate != defaultGate {
		t.Errorf("defaults %+v", c)
	}
	if most := 12 * time.Second; c.Duration > most {
		t.Errorf("a side lasts %v, want at most %v, for the whole to take at most 30 s", c.Duration, most)
	}
	c, asJSON, err = rushFlags(strings.Fields("-clients 20 -deadline 500ms -duration 2s -gate 3 -json"), io.Discard)
	if err != nil || !asJSON {
		t.Fatalf("json %v, error %v", asJSON, err)
	}
	if c.Clients != 20 || c.Deadline != 500*time.Millisecond || c.Duration != 2*time.Second || c.Gate != 3 {
		t.Errorf("flags gave %+v", c)
	}
	if err := c.Check(); err != nil {
		t.Error(err)
	}
}

func TestServerWarnsOfAProxyThatGivesUpFirst(t *testing.T) {
	t.Parallel()
	gates, err := server.NewGates(server.GateConfig{DB: 2, Reports: 1, RetryMin: time.Second, RetryMax: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]bool{"": false, "-proxy-timeout 30s": true, "-proxy-timeout 35s": false} {
		c, err := serveFlags(strings.Fields(args), io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		var said strings.Builder
		warnOfProxy(slog.New(slog.NewTextHandler(&said, nil)), gates, c.proxy)
		if got := strings.Contains(said.String(), "level=WARN"); got != want {
			t.Errorf("%q: said %q, want a warning: %v", args, said.String(), want)
		}
	}
}

func TestInterrupted(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stderr strings.Builder
	if code := run(ctx, []string{"rush", "-json"}, unwritten{t}, &stderr); code != exitInterrupted {
		t.Errorf("exit %d, want %d", code, exitInterrupted)
	}
	if want := "demo: interrupted\n"; !strings.HasSuffix(stderr.String(), want) {
		t.Errorf("wrote %q, want it to end with %q", stderr.String(), want)
	}
}

// unwritten fails the test when something is written to it.
type unwritten struct{ t *testing.T }

func (u unwritten) Write(b []byte) (int, error) {
	u.t.Errorf("wrote to the wrong stream: %q", b)
	return len(b), nil
}
