package browser

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is how long anything may take before a test gives up: the machine may be busy with other things.
const patience = 2 * time.Minute

// startDemo runs a demo until stop is called, at the latest at the end of the test.
func startDemo(t *testing.T) (addr string, stop func()) {
	t.Helper()
	user, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(user, "rpcgate", "demo") // as in internal/backends
	build := exec.Command("go", "build", "-o", path, ".")
	build.Dir = "../../../demo"
	build.Env = append(os.Environ(), "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the demo: %v\n%s", err, out)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr = l.Addr().String()
	_ = l.Close()
	cmd := exec.Command(path, "-addr", addr, "-gate", "2", "-reports", "1")
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		kill := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
		defer kill.Stop()
		if err := cmd.Wait(); err != nil {
			t.Errorf("demo: %v", err)
		}
	})
	t.Cleanup(stop)
	eventually(t, "the demo is ready", func() error {
		res, err := http.Get("http://" + addr + "/healthz")
		if err == nil {
			_ = res.Body.Close()
		}
		return err
	})
	return addr, stop
}

// load keeps the demo busy until stop is called, at the latest at the end of the test: 30 clients ask for orders, again
// and again.
func load(t *testing.T, addr string) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 30}}
	call := func(method, contentType, body string) {
		req, err := http.NewRequestWithContext(ctx, "POST", "http://"+addr+method, strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return
		}
		req.Header.Set("Content-Type", contentType)
		res, err := client.Do(req)
		if err != nil { // at the end of the load
			return
		}
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
	}
	ended := make(chan struct{}, 30)
	for range cap(ended) {
		go func() {
			for ctx.Err() == nil {
				call("/demo.orders.v1.OrderService/ListOpenOrders", "application/json", `{"region":"north coast","limit":500}`)
			}
			ended <- struct{}{}
		}()
	}
	stop = sync.OnceFunc(func() {
		cancel()
		for range cap(ended) {
			<-ended
		}
	})
	t.Cleanup(stop)
	return stop
}

// watch opens streams of events, as idle pages do, until stop is called or the test ends.
func watch(t *testing.T, addr string, n int) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	client := &http.Client{Transport: &http.Transport{}}
	for range n {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/debug/gate/events", nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			_, _ = io.Copy(io.Discard, res.Body)
			_ = res.Body.Close()
		}()
	}
	return cancel
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
			t.Fatal(fmt.Errorf("%s: not within %v: %w", what, patience, err))
		}
	}
}
