package main

import (
	"context"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// result is what the suite says of one server.
type result struct {
	cases  string   // how many, in its own words
	failed []string // their names
}

var (
	casesLine  = regexp.MustCompile(`(?m)^Total cases: \d+$`)
	failedLine = regexp.MustCompile(`(?m)^FAILED: (.*?):?$`)
)

// TestSuiteSeesNoDifference runs the suite against a plain Connect server and against the same server wrapped.
func TestSuiteSeesNoDifference(t *testing.T) {
	bin := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", bin, ".", "connectrpc.com/conformance/cmd/connectconformance")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	plain, wrapped := runTwice(t, bin), runTwice(t, bin, "-wrapped")
	t.Logf("%s, each; failed: %d plain, %d wrapped", plain.cases, len(plain.failed), len(wrapped.failed))
	if plain.cases != wrapped.cases {
		t.Errorf("plain %s, wrapped %s", plain.cases, wrapped.cases)
	}
	for _, name := range plain.failed {
		t.Errorf("plain, this fails: %s", name)
	}
	for _, name := range wrapped.failed {
		if !slices.Contains(plain.failed, name) {
			t.Errorf("wrapped, this fails: %s", name)
		}
	}
}

// runTwice runs the suite, and again the cases that have failed: many are about deadlines, which a busy machine misses.
// Only what fails once more, then one call at a time, has failed.
func runTwice(t *testing.T, bin string, flags ...string) result {
	t.Helper()
	all := runSuite(t, bin, []string{"--parallel", "4", "--max-servers", "2"}, flags)
	if len(all.failed) == 0 {
		return all
	}
	again := []string{"--parallel", "1", "--max-servers", "1"}
	for _, name := range all.failed {
		again = append(again, "--run", name)
	}
	all.failed = runSuite(t, bin, again, flags).failed
	return all
}

func runSuite(t *testing.T, bin string, options, flags []string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	args := slices.Concat([]string{"--mode", "server", "--conf", "config.yaml"}, options, []string{"--", filepath.Join(bin, "conformance")}, flags)
	start := time.Now()
	out, err := exec.CommandContext(ctx, filepath.Join(bin, "connectconformance"), args...).CombinedOutput()
	r := result{cases: casesLine.FindString(string(out))}
	for _, m := range failedLine.FindAllStringSubmatch(string(out), -1) {
		r.failed = append(r.failed, m[1])
	}
	if r.cases == "" || (err != nil) != (len(r.failed) > 0) {
		t.Fatalf("the suite did not run: %v\n%s", err, out)
	}
	t.Logf("%s, %d failed, in %s (server%s)", r.cases, len(r.failed), time.Since(start).Round(time.Second), strings.Join(append([]string{""}, flags...), " "))
	return r
}
