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

// suite is the suite as it is run against one server.
type suite struct {
	bin    string // where it and the server are
	config string
}

// result is what the suite says of one server.
type result struct {
	cases  string   // how many, in its own words
	failed []string // their names
}

var (
	casesLine  = regexp.MustCompile(`(?m)^Total cases: \d+$`)
	failedLine = regexp.MustCompile(`(?m)^FAILED: (.*?):?$`)
)

// TestSuiteSeesNoDifference runs the suite against a plain server of each library and against the same server wrapped.
// What a library does wrong by itself is none of this test's business, as long as it is the same when wrapped.
func TestSuiteSeesNoDifference(t *testing.T) {
	bin := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", bin, ".", "connectrpc.com/conformance/cmd/connectconformance")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for _, s := range []struct{ name, config string }{
		{name: "connect-v1", config: "connect.yaml"},
		{name: "connect-v2", config: "connect.yaml"},
		{name: "grpc-go", config: "grpc-go.yaml"},
	} {
		t.Run(s.name, func(t *testing.T) {
			u := suite{bin: bin, config: s.config}
			plain, wrapped := u.runTwice(t, "-server", s.name), u.runTwice(t, "-server", s.name, "-wrapped")
			compare(t, plain, wrapped)
		})
	}
}

func compare(t *testing.T, plain, wrapped result) {
	t.Helper()
	t.Logf("%s, each; failed: %d plain, %d wrapped", plain.cases, len(plain.failed), len(wrapped.failed))
	if plain.cases != wrapped.cases {
		t.Errorf("plain %s, wrapped %s", plain.cases, wrapped.cases)
	}
	for _, name := range wrapped.failed {
		if !slices.Contains(plain.failed, name) {
			t.Errorf("this fails only when wrapped: %s", name)
		}
	}
	for _, name := range plain.failed {
		if slices.Contains(wrapped.failed, name) {
			t.Logf("this fails with the library alone: %s", name)
		} else {
			t.Errorf("this fails only when plain: %s", name)
		}
	}
}

// runTwice runs the suite, and again the cases that have failed: many are about deadlines, which a busy machine misses.
// Only what fails once more, then one call at a time, has failed.
func (s suite) runTwice(t *testing.T, flags ...string) result {
	t.Helper()
	all := s.run(t, []string{"--parallel", "4", "--max-servers", "2"}, flags)
	if len(all.failed) == 0 {
		return all
	}
	again := []string{"--parallel", "1", "--max-servers", "1"}
	for _, name := range all.failed {
		again = append(again, "--run", name)
	}
	all.failed = s.run(t, again, flags).failed
	return all
}

func (s suite) run(t *testing.T, options, flags []string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	args := slices.Concat([]string{"--mode", "server", "--conf", s.config}, options, []string{"--", filepath.Join(s.bin, "conformance")}, flags)
	start := time.Now()
	out, err := exec.CommandContext(ctx, filepath.Join(s.bin, "connectconformance"), args...).CombinedOutput()
	r := result{cases: casesLine.FindString(string(out))}
	for _, m := range failedLine.FindAllStringSubmatch(string(out), -1) {
		r.failed = append(r.failed, m[1])
	}
	if r.cases == "" || (err != nil) != (len(r.failed) > 0) {
		t.Fatalf("the suite did not run: %v\n%s", err, out)
	}
	t.Logf("%s, %d failed, in %s (%s)", r.cases, len(r.failed), time.Since(start).Round(time.Second), strings.Join(flags, " "))
	return r
}
