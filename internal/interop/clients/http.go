package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rpcgate/rpcgate/internal/conformance"
)

func httpRows() []row {
	sizes := []int{1, 5, 15, 50}
	return []row{
		{client: curl(), servers: httpServers(), tried: tried(sizes) + " over HTTP/2, each on a connection of its own",
			run: posts(sizes, false, "--http2-prior-knowledge")}, // on one, curl 7.88 fails with every server
		{client: curl(), servers: httpServers(), tried: tried(sizes) + " over HTTP/1.1, those of a size on one connection",
			run: posts(sizes, true, "--http1.1")},
		{client: pythonRequests(), servers: httpServers(), tried: "with Retry(status_forcelist=[429, 503]): comes back twice after Retry-After of 1 s, and is answered",
			run: requests},
	}
}

// tried says what posts does.
func tried(kb []int) string {
	return fmt.Sprintf("gets 429 for %d refused POSTs each of %s KB", times, strings.Trim(strings.ReplaceAll(fmt.Sprint(kb), " ", ", "), "[]"))
}

// posts makes POSTs that are refused: all of a size by one curl, or each by its own.
func posts(kb []int, together bool, options ...string) func(context.Context, meeting) (string, error) {
	return func(ctx context.Context, m meeting) (string, error) {
		b, err := m.busy(ctx, time.Second, forever)
		if err != nil {
			return "", err
		}
		defer b.stop()
		return postTo(ctx, "http://"+b.addr+conformance.Unary.Route(), m.dir, kb, together, options...)
	}
}

const times = 60

func postTo(ctx context.Context, url, dir string, kb []int, together bool, options ...string) (string, error) {
	var wrong []string
	for _, size := range kb {
		said, err := curlTo(ctx, url, dir, size*1000, together, options...)
		if err != nil {
			return "", err
		}
		bad := map[string]int{}
		for _, s := range said {
			if s != "429/0" {
				bad[s]++
			}
		}
		if missing := times - len(said); missing > 0 {
			bad["none"] = missing
		}
		for _, what := range slices.Sorted(maps.Keys(bad)) {
			wrong = append(wrong, fmt.Sprintf("%d KB: %d of %d got %s", size, bad[what], times, what))
		}
	}
	if len(wrong) > 0 {
		return "", fmt.Errorf("%s (status/exit code)", strings.Join(wrong, ", "))
	}
	return fmt.Sprintf("429 for all %d", len(kb)*times), nil
}

// curlTo makes POSTs of a size and returns the status and the exit code of each.
func curlTo(ctx context.Context, url, dir string, size int, together bool, options ...string) (said []string, err error) {
	body := filepath.Join(dir, "body.json")
	if err := os.WriteFile(body, fmt.Appendf(nil, "{\"text\": %q}", strings.Repeat("x", size)), 0o600); err != nil {
		return nil, err
	}
	runs := times
	if together {
		runs, url = 1, fmt.Sprintf("%s?n=[1-%d]", url, times)
	}
	args := append([]string{"-s", "-o", "/dev/null", "-H", "Content-Type: application/json", "--data-binary", "@" + body,
		"--max-time", "20", "-w", "%{http_code}/%{exitcode}\n", url}, options...)
	for range runs {
		out, _ := exec.CommandContext(ctx, "curl", args...).Output() // it prints its exit code
		said = append(said, strings.Fields(string(out))...)
	}
	return said, nil
}

// requests makes a POST that is refused twice.
func requests(ctx context.Context, m meeting) (string, error) {
	b, err := m.busy(ctx, time.Second, 2)
	if err != nil {
		return "", err
	}
	defer b.stop()
	path, err := unpack(m.dir, "comeback.py")
	if err != nil {
		return "", err
	}
	want := "200"
	if m.server.name == plain().name {
		want = "204"
	}
	return b.once(ctx, m, time.Second, []string{python, path, "http://" + b.addr + conformance.Unary.Route()}, want)
}
