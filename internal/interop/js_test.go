//go:build interop

package interop

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/internal/interop/js"
)

// target is one call that a script is to make. The fields are those that the scripts know.
type target struct {
	Shape string `json:"shape"` // "unary" or "stream"

	// For connect.mjs.
	Protocol    string `json:"protocol,omitempty"`
	URL         string `json:"url,omitempty"`
	HTTPVersion string `json:"httpVersion,omitempty"`
	UseHTTPGet  bool   `json:"useHttpGet,omitempty"`

	// For grpc.mjs.
	Addr       string `json:"addr,omitempty"`
	Backoff    string `json:"backoff,omitempty"` // of the retry policy
	DeadlineMs int    `json:"deadlineMs,omitempty"`
}

// sighting is what a script saw.
type sighting struct {
	Text         string  `json:"text"` // of the answer, if there was one
	Code         string  `json:"code"`
	Message      string  `json:"message"`
	RetryDelayMs float64 `json:"retryDelayMs"` // of google.rpc.RetryInfo
	Reason       string  `json:"reason"`
	Domain       string  `json:"domain"`
	RequestID    string  `json:"requestId"`
	RetryAfter   string  `json:"retryAfter"`
	Pushback     string  `json:"pushback"`
	HasDetails   bool    `json:"hasDetails"`
}

// node runs a script in js and returns what it saw of each target.
func node(t *testing.T, script string, targets []target) []sighting {
	t.Helper()
	if err := js.Install(t.Context(), "js"); err != nil {
		t.Fatal(err)
	}
	job, err := js.Job(targets)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "job.json")
	if err := os.WriteFile(file, job, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", script, file)
	cmd.Dir = "js"
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("node %s: %v\n%s", script, err, stderr.Bytes())
	}
	var seen []sighting
	if err := json.Unmarshal(out, &seen); err != nil || len(seen) != len(targets) {
		t.Fatalf("node %s: %v, %d results of %d\n%s%s", script, err, len(seen), len(targets), out, stderr.Bytes())
	}
	return seen
}

func TestConnectNodeSeesWhatItIsRefusedWith(t *testing.T) {
	const delay = 2 * time.Second
	kinds := map[string]gate.Refusal{"ResourceExhausted": gate.TooManyRequests, "Unavailable": gate.ServiceUnavailable}
	servers := map[string]string{}
	gates := map[string]*gate.Gate{}
	for code, kind := range kinds {
		g := newGate(t, delay, -1, gate.WithRefusal(kind))
		gates[code], servers[code] = g, "http://"+serveConnect(t, g)
	}
	var targets []target
	var codes []string
	for code, url := range servers {
		for _, shape := range []string{"unary", "stream"} {
			for _, like := range []target{
				{Protocol: "connect", HTTPVersion: "1.1"}, {Protocol: "connect", HTTPVersion: "2"},
				{Protocol: "connect", HTTPVersion: "1.1", UseHTTPGet: true}, {Protocol: "grpc"},
				{Protocol: "grpc-web", HTTPVersion: "1.1"}, {Protocol: "grpc-web", HTTPVersion: "2"},
			} {
				like.URL, like.Shape = url, shape
				targets, codes = append(targets, like), append(codes, code)
			}
		}
	}
	for i, got := range node(t, "connect.mjs", targets) {
		want := sighting{Code: codes[i], Message: "server busy", RetryDelayMs: 2000, Reason: "LIMIT", Domain: "rpcgate",
			RequestID: "from-js"}
		if targets[i].Protocol == "connect" {
			want.RetryAfter = "2"
		} else {
			// The deadline of the call, a minute, is far enough away for a retry.
			want.Pushback = "2000"
		}
		if got != want {
			t.Errorf("%+v:\ngot  %+v\nwant %+v", targets[i], got, want)
		}
	}
	for _, g := range gates {
		checkAttempts(t, g, uint64(len(targets)/len(gates)), 0)
	}
}

// The policy's own backoff is far longer than the deadline of the call, so that it can only succeed if the client comes
// back after the delay that the server has asked for.
func TestGRPCJSComesBackAfterTheDelayItWasTold(t *testing.T) {
	var targets []target
	var names []string
	var gates []*gate.Gate
	for name, start := range hosts() {
		for _, shape := range []string{"unary", "stream"} {
			g := newGate(t, 50*time.Millisecond, 2)
			targets = append(targets, target{Shape: shape, Addr: start(t, g), Backoff: "600s", DeadlineMs: 60_000})
			names, gates = append(names, name+", "+shape), append(gates, g)
		}
	}
	for i, got := range node(t, "grpc.mjs", targets) {
		t.Run(names[i], func(t *testing.T) {
			if got.Text != "hello" {
				t.Errorf("the call failed: %+v", got)
			}
			checkAttempts(t, gates[i], 2, 1)
		})
	}
}

// The policy alone would let the client try five times at once; the server knows that it is of no use.
func TestGRPCJSDoesNotRetryPastItsDeadline(t *testing.T) {
	var targets []target
	var names []string
	var gates []*gate.Gate
	for name, start := range hosts() {
		g := newGate(t, time.Hour, -1)
		targets = append(targets, target{Shape: "unary", Addr: start(t, g), Backoff: "0.01s", DeadlineMs: 60_000})
		names, gates = append(names, name), append(gates, g)
	}
	for i, got := range node(t, "grpc.mjs", targets) {
		t.Run(names[i], func(t *testing.T) {
			want := sighting{Code: "RESOURCE_EXHAUSTED", Message: "server busy", Pushback: "-1", HasDetails: true}
			if got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
			checkAttempts(t, gates[i], 1, 0)
		})
	}
}

// It is why TrailersOnly is there.
func TestGRPCJSDoesNotRetryWithoutTrailersOnly(t *testing.T) {
	g := newGate(t, 50*time.Millisecond, -1)
	addr := serveHTTP(t, connectV1(g))
	got := node(t, "grpc.mjs", []target{{Shape: "unary", Addr: addr, Backoff: "0.01s", DeadlineMs: 60_000}})[0]
	if want := (sighting{Code: "RESOURCE_EXHAUSTED", Message: "server busy", Pushback: "50", HasDetails: true}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	checkAttempts(t, g, 1, 0)
}
