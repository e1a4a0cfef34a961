package main

import (
	"io"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		args  string
		names string
		quick bool
	}{
		{"", "micro growth calls cpu windows goodput", false},
		{"all", "micro growth calls cpu windows goodput", false},
		{"-quick", "micro growth calls cpu windows goodput", true},
		{"micro", "micro", false},
		{"growth -quick", "growth", true},
		{"-quick cpu", "cpu", true},
	} {
		chosen, quick, err := parse(strings.Fields(c.args))
		if err != nil {
			t.Errorf("%q: %v", c.args, err)
		}
		var names []string
		for _, p := range chosen {
			names = append(names, p.name)
		}
		if got := strings.Join(names, " "); got != c.names || quick != c.quick {
			t.Errorf("%q: parts %q, quick %v; want %q, %v", c.args, got, quick, c.names, c.quick)
		}
	}
}

func TestBadArgumentsExitWith2(t *testing.T) {
	for _, args := range []string{"mirco", "-fast", "micro cpu", "micro -quick cpu", "-quick=perhaps", "-h"} {
		var stderr strings.Builder
		if code := run(strings.Fields(args), io.Discard, &stderr); code != 2 {
			t.Errorf("%q: exit code %d, want 2", args, code)
		}
		if !strings.Contains(stderr.String(), "usage: go run .") {
			t.Errorf("%q: no usage in %q", args, stderr.String())
		}
	}
}
