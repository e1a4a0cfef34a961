package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"
)

// server is one of those that the suite is run against.
type server struct {
	name, config string

	// faults are the cases that the library is known to fail by itself, or nil. What else fails is a mistake here.
	faults *regexp.Regexp
	// flaky are patterns of the suite for cases that sometimes fail with the library alone, too.
	flaky []string
}

func servers() []server {
	return []server{
		{name: "connect-v1", config: "connect.yaml"},
		{name: "connect-v2", config: "connect.yaml"},
		{
			name: "grpc-go", config: "grpc-go.yaml",
			// It says Internal, and not Unimplemented, of too many requests or none, and takes any codec for proto.
			faults: regexp.MustCompile(`^gRPC Unexpected Requests/.*/(multiple-requests|no-request|unexpected-codec)$`),
			// If the client gives up just before the server does, it sees no trailers, which is right. But the suite then
			// misses those that the headers have announced, and grpc-go's do.
			flaky: []string{"Timeouts/**/server-stream", "Timeouts/**/half-duplex"},
		},
	}
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
// What a library does wrong by itself must be the same when wrapped.
func TestSuiteSeesNoDifference(t *testing.T) {
	bin := t.TempDir()
	server := []string{"-o", bin, "."}
	if raceDetector() {
		server = append([]string{"-race"}, server...)
		reportRaces(t)
	}
	for _, args := range [][]string{server, {"-o", bin, "connectrpc.com/conformance/cmd/connectconformance"}} {
		build := exec.CommandContext(t.Context(), "go", append([]string{"build"}, args...)...)
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("go build: %v\n%s", err, out)
		}
	}
	for _, s := range servers() {
		t.Run(s.name, func(t *testing.T) {
			plain, wrapped := s.runTwice(t, bin), s.runTwice(t, bin, "-wrapped")
			t.Logf("%s, each; failed: %d plain, %d wrapped", plain.cases, len(plain.failed), len(wrapped.failed))
			s.compare(t, plain, wrapped)
		})
	}
}

// raceDetector reports whether this test was built with -race.
func raceDetector() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// reportRaces fails the test at its end if the race detector has found anything in a server. The exit status does not say
// so, since the suite kills its servers.
func reportRaces(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("GORACE", "log_path="+filepath.Join(dir, "race"))
	t.Cleanup(func() {
		reports, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil {
			t.Error(err)
		}
		for _, name := range reports {
			said, err := os.ReadFile(name)
			if err != nil {
				t.Error(err)
			}
			t.Errorf("a server has a data race:\n%s", said)
		}
	})
}

func (s server) compare(t *testing.T, plain, wrapped result) {
	t.Helper()
	if plain.cases != wrapped.cases {
		t.Errorf("plain %s, wrapped %s", plain.cases, wrapped.cases)
	}
	for _, name := range plain.failed {
		switch {
		case s.faults == nil || !s.faults.MatchString(name):
			t.Errorf("plain, this fails: %s", name)
		case !slices.Contains(wrapped.failed, name):
			t.Errorf("this fails only when plain: %s", name)
		default:
			t.Logf("this fails with the library alone: %s", name)
		}
	}
	for _, name := range wrapped.failed {
		if !slices.Contains(plain.failed, name) {
			t.Errorf("this fails only when wrapped: %s", name)
		}
	}
}

// runTwice runs the suite, and again the cases that have failed: many are about deadlines, which a busy machine misses.
// Only what fails once more, then one call at a time, has failed.
func (s server) runTwice(t *testing.T, bin string, flags ...string) result {
	t.Helper()
	all := s.run(t, bin, []string{"--parallel", "4", "--max-servers", "2"}, flags)
	if len(all.failed) == 0 {
		return all
	}
	again := []string{"--parallel", "1", "--max-servers", "1"}
	for _, name := range all.failed {
		again = append(again, "--run", name)
	}
	once := all.failed
	all.failed = s.run(t, bin, again, flags).failed
	for _, name := range once {
		if !slices.Contains(all.failed, name) {
			t.Logf("this failed only once: %s", name)
		}
	}
	return all
}

func (s server) run(t *testing.T, bin string, options, flags []string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	args := append([]string{"--mode", "server", "--conf", s.config}, options...)
	for _, pattern := range s.flaky {
		args = append(args, "--known-flaky", pattern)
	}
	args = append(args, "--", filepath.Join(bin, "conformance"), "-server", s.name)
	args = append(args, flags...)
	start := time.Now()
	out, err := exec.CommandContext(ctx, filepath.Join(bin, "connectconformance"), args...).CombinedOutput()
	r := result{cases: casesLine.FindString(string(out))}
	for _, m := range failedLine.FindAllStringSubmatch(string(out), -1) {
		r.failed = append(r.failed, m[1])
	}
	if r.cases == "" || (err != nil) != (len(r.failed) > 0) {
		t.Fatalf("the suite did not run: %v\n%s", err, out)
	}
	t.Logf("%s, %d failed, in %s %s", r.cases, len(r.failed), time.Since(start).Round(time.Second), strings.Join(flags, " "))
	return r
}
