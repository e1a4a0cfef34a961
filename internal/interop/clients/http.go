package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/rpcgate/rpcgate/internal/conformance"
)

func httpRows() []row {
	sizes := []int{1, 5, 15, 50}
	return []row{
		// On one connection, curl 7.88 fails with every server.
		{client: curl(), servers: httpServers(), tried: tried(sizes) + " over HTTP/2, each on a connection of its own",
			run: posts(sizes, false, "--http2-prior-knowledge")},
		{client: curl(), servers: without(httpServers()), tried: "the same without ConfigureServer", known: bareRow,
			run: posts(sizes, false, "--http2-prior-knowledge")},
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
		var errs []error
		for _, size := range kb {
			runs, each := times, 1
			if together {
				runs, each = 1, times
			}
			got := map[string]int{}
			for range runs {
				if err := curlTo(ctx, got, each, "http://"+b.addr+conformance.Unary.Route(), m.dir, size, options...); err != nil {
					return "", err
				}
			}
			errs = append(errs, m.all(fmt.Sprintf("%d KB: of %d", size, times), got, refused))
		}
		return fmt.Sprintf("429 for all %d", len(kb)*times), errors.Join(errs...)
	}
}

// crowd makes many refused POSTs of a size at once, and others beside them.
func crowd(kb int) func(context.Context, meeting) (string, error) {
	return func(ctx context.Context, m meeting) (string, error) {
		b, err := m.busy(ctx, time.Second, forever)
		if err != nil {
			return "", err
		}
		defer b.stop()
		url, answers := "http://"+b.addr, [2]map[string]int{{}, {}}
		var errs [2]error
		var both sync.WaitGroup
		for i, path := range []string{conformance.Unary.Route(), grpc_health_v1.Health_Check_FullMethodName} {
			size := kb * (1 - i)
			both.Go(func() {
				errs[i] = curlTo(ctx, answers[i], crowdSize, url+path, m.dir, size, "--http1.1", "--parallel", "--parallel-max", "16")
			})
		}
		both.Wait()
		return fmt.Sprintf("429 for all %d, the others answered", crowdSize), errors.Join(errs[0], errs[1],
			m.all(fmt.Sprintf("of %d", crowdSize), answers[0], refused),
			m.all(fmt.Sprintf("of %d beside them", crowdSize), answers[1], "HTTP 2xx"))
	}
}

const (
	times     = 60
	crowdSize = 300
	refused   = "HTTP 429"
)

// curlTo lets one curl make POSTs, and counts the answers.
func curlTo(ctx context.Context, answers map[string]int, n int, url, dir string, kb int, options ...string) error {
	body := filepath.Join(dir, fmt.Sprintf("%d.json", kb))
	text := "{}"
	if kb > 0 {
		text = fmt.Sprintf("{\"text\": %q}", strings.Repeat("x", kb*1000))
	}
	if err := os.WriteFile(body, []byte(text), 0o600); err != nil {
		return err
	}
	args := append([]string{"-s", "-o", "/dev/null", "-H", "Content-Type: application/json", "--data-binary", "@" + body,
		"--max-time", "20", "-w", "%{http_code} %{exitcode}\n", fmt.Sprintf("%s?n=[1-%d]", url, n)}, options...)
	out, _ := exec.CommandContext(ctx, "curl", args...).Output() // it prints its exit code
	lines := strings.Fields(string(out))
	for i := 0; i+1 < len(lines); i += 2 {
		what := "HTTP " + lines[i]
		if lines[i+1] != "0" {
			what = "curl's exit code " + lines[i+1]
		} else if lines[i][0] == '2' {
			what = "HTTP 2xx"
		}
		answers[what]++
	}
	if missing := n - len(lines)/2; missing > 0 {
		answers["nothing"] += missing
	}
	return nil
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
