package main

import (
	"strings"
	"testing"
	"time"
)

func TestNamingAPartRunsOnlyThat(t *testing.T) {
	for args, want := range map[string]options{
		"":                         {steps: 10_000_000, races: 1_000_000, stress: time.Minute, hosts: time.Minute, seed: 7},
		"-steps 5":                 {steps: 5, seed: 7},
		"-races 5 -for 3s":         {races: 5, stress: 3 * time.Second, seed: 7},
		"-hosts 5s":                {hosts: 5 * time.Second, seed: 7},
		"-steps 5 -races 0 -for 0": {steps: 5, seed: 7},
	} {
		got, err := parse(strings.Fields(args+" -seed 7"), &strings.Builder{})
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", args, got, err, want)
		}
	}
}

func TestBadFlagsAreClearErrors(t *testing.T) {
	for args, want := range map[string]string{
		"-steps -1":  "soak: -steps: want 0 or more, got -1",
		"-races -1":  "soak: -races: want 0 or more, got -1",
		"-for -1s":   "soak: -for: want 0 or more, got -1s",
		"-hosts -1s": "soak: -hosts: want 0 or more, got -1s",
		"-for 60":    `invalid value "60" for flag -for`,
		"-steps x":   `invalid value "x" for flag -steps`,
		"-stepz 1":   "flag provided but not defined: -stepz",
		"steps 5":    `soak: what is "steps"? There are only flags, see -help`,
	} {
		var out strings.Builder
		if _, err := parse(strings.Fields(args), &out); err == nil || !strings.Contains(out.String(), want) {
			t.Errorf("%q: %v, said %q; want %s", args, err, out.String(), want)
		}
	}
}
