//go:build backends

package backends

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience is how long anything may take before a test gives up: the machine may be busy with other things.
const patience = 2 * time.Minute

// start runs a program until the end of the test.
func start(t *testing.T, path string, env []string, args ...string) {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), filepath.Base(path)+".log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), env...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case err = <-ended:
		case <-time.After(patience):
			_ = cmd.Process.Kill()
			err = fmt.Errorf("did not end when asked to: %w", <-ended)
		}
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if t.Failed() {
			said, _ := os.ReadFile(log.Name())
			t.Logf("%s said\n%s", path, bytes.TrimSpace(said[max(0, len(said)-4000):]))
		}
		_ = log.Close()
	})
}

// startDemo returns the address of a demo whose gate in front of the database has one place.
func startDemo(t *testing.T, env ...string) string {
	t.Helper()
	path, err := demoBinary()
	if err != nil {
		t.Fatal(err)
	}
	addr := freeAddr(t)
	start(t, path, env, "-addr", addr, "-gate", "1", "-reports", "1")
	eventually(t, "the demo is ready", func() error { return get("http://"+addr+"/healthz", nil, nil) })
	return addr
}

// freeAddr returns a loopback address that nobody listens on.
func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// eventually asks until there is no error.
func eventually(t *testing.T, what string, ask func() error) {
	t.Helper()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	late := time.After(patience)
	for err := ask(); err != nil; err = ask() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("%s: not within %v: %v", what, patience, err)
		}
	}
}

// get reads JSON into out, unless that is nil.
func get(address string, query url.Values, out any) error {
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	client := http.Client{Timeout: 10 * time.Second}
	res, err := client.Get(address)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	switch {
	case err != nil:
		return err
	case res.StatusCode != http.StatusOK:
		return fmt.Errorf("%s: %s: %s", address, res.Status, strings.TrimSpace(string(body)))
	case out == nil:
		return nil
	}
	return json.Unmarshal(body, out)
}
