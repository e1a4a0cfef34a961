package js

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// page runs web.mjs, whose imports a browser finds by this map.
const page = `<!doctype html><title>interop</title><script type="importmap">{"imports": {
	"@bufbuild/protobuf": "/node_modules/@bufbuild/protobuf/dist/esm/index.js",
	"@bufbuild/protobuf/codegenv2": "/node_modules/@bufbuild/protobuf/dist/esm/codegenv2/index.js",
	"@bufbuild/protobuf/wire": "/node_modules/@bufbuild/protobuf/dist/esm/wire/index.js",
	"@bufbuild/protobuf/wkt": "/node_modules/@bufbuild/protobuf/dist/esm/wkt/index.js",
	"@connectrpc/connect": "/node_modules/@connectrpc/connect/dist/esm/index.js",
	"@connectrpc/connect/protocol": "/node_modules/@connectrpc/connect/dist/esm/protocol/index.js",
	"@connectrpc/connect/protocol-connect": "/node_modules/@connectrpc/connect/dist/esm/protocol-connect/index.js",
	"@connectrpc/connect/protocol-grpc-web": "/node_modules/@connectrpc/connect/dist/esm/protocol-grpc-web/index.js",
	"@connectrpc/connect-web": "/node_modules/@connectrpc/connect-web/dist/esm/index.js"
}}</script><script type="module" src="/web.mjs"></script>`

// InBrowser opens a page in Chromium that calls the targets, all of another origin, and decodes into seen what it saw of
// each. dir is the folder of the scripts, with their packages; profile is a folder for the browser.
func InBrowser(ctx context.Context, dir, profile string, targets, seen any) error {
	job, err := Job(targets)
	if err != nil {
		return err
	}
	reported := make(chan error, 1)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(page))
	})
	mux.Handle("GET /", http.FileServerFS(os.DirFS(dir)))
	mux.HandleFunc("GET /job", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(job) })
	mux.HandleFunc("POST /report", func(_ http.ResponseWriter, r *http.Request) {
		reported <- json.NewDecoder(r.Body).Decode(seen)
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() { _ = srv.Serve(listener) }()
	defer srv.Close()
	return browse(ctx, profile, "http://"+listener.Addr().String(), reported)
}

// browse shows a page until it has reported.
func browse(ctx context.Context, profile, url string, reported <-chan error) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	browser := exec.CommandContext(ctx, "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
		"--disable-quic", "--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--remote-debugging-port=0", // or it ends when the page has loaded
		"--user-data-dir="+profile, url)
	browser.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // it is several processes
	browser.Cancel = func() error { return syscall.Kill(-browser.Process.Pid, syscall.SIGKILL) }
	browser.WaitDelay = 10 * time.Second
	if err := browser.Start(); err != nil {
		return fmt.Errorf("%w (on Debian: apt-get install chromium)", err)
	}
	defer func() {
		cancel()
		_ = browser.Wait() // its error is that it was killed
	}()
	select {
	case err := <-reported:
		return err
	case <-ctx.Done():
		return fmt.Errorf("the page did not report in time: %w", ctx.Err())
	}
}
