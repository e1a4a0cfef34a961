package main

import (
	"context"
	"fmt"
	"time"
)

// language is a client of gRPC: calls.py, or the same in another language.
type language struct {
	tool    tool
	program string
	command func(path string) []string
}

func languages() []language {
	jars := "/usr/share/java/*" // of Debian; all of them, since they need each other
	return []language{
		{pythonGRPC(), "calls.py", func(path string) []string { return []string{python, path} }},
		{rubyGRPC(), "calls.rb", func(path string) []string { return []string{"ruby", path} }},
		{javaGRPC(), "Calls.java", func(path string) []string { return []string{"java", "-cp", jars, path} }},
	}
}

func (l language) argv(m meeting, args ...string) ([]string, error) {
	path, err := unpack(m.dir, l.program)
	return append(l.command(path), args...), err
}

// The delay that servers ask for, and a backoff that is longer than the deadline of a call.
const (
	delay = 700 * time.Millisecond
	never = "60s"
)

func grpcRows() []row {
	var rows []row
	for _, l := range languages() {
		rows = append(rows,
			row{client: l.tool, servers: grpcServers(),
				tried: fmt.Sprintf("comes back twice after the %d ms that it was told, though its policy says %s, and is answered", delay.Milliseconds(), never),
				run:   l.retries(never, delay)},
			row{client: l.tool, servers: []server{tap()},
				tried: "comes back twice after its own backoff of 300 ms: the tap sends no pushback",
				run:   l.retries("0.3s", 0)},
			row{client: l.tool, servers: grpcServers(),
				tried: "200 refused calls of 5 KB on 8 threads, health checks beside them, one more call after them",
				run:   l.floods(5_000)},
			row{client: l.tool, servers: grpcServers(), tried: "the same with 200 KB", run: l.floods(200_000)},
		)
	}
	python := languages()[0]
	return append(rows, row{client: python.tool, servers: grpcServers(), tried: openStreams, run: python.many("streams")})
}

const openStreams = "60 refused bidirectional streams whose requests do not end, health checks between them, a call after them"

// retries makes a call that is refused twice.
func (l language) retries(backoff string, apart time.Duration) func(context.Context, meeting) (string, error) {
	return func(ctx context.Context, m meeting) (string, error) {
		b, err := m.busy(ctx, delay, 2)
		if err != nil {
			return "", err
		}
		defer b.stop()
		argv, err := l.argv(m, "retry", b.addr, backoff)
		if err != nil {
			return "", err
		}
		return b.once(ctx, m, apart, argv, "OK")
	}
}

// once runs a program that makes one call, which is refused twice.
func (b *busy) once(ctx context.Context, m meeting, apart time.Duration, argv []string, want string) (string, error) {
	t, err := begin(ctx, m.dir, argv...)
	if err != nil {
		return "", err
	}
	defer t.end()
	got, err := t.next()
	if err != nil {
		return "", err
	}
	if got.Code != want {
		return "", fmt.Errorf("the call got %s, want %s", got.Code, want)
	}
	return b.gaps(3, apart)
}

// floods makes many calls of a size.
func (l language) floods(size int) func(context.Context, meeting) (string, error) {
	return l.many("flood", fmt.Sprint(size))
}

// many makes many calls that are refused, in a mode of the program, and one that is not.
func (l language) many(mode string, args ...string) func(context.Context, meeting) (string, error) {
	return func(ctx context.Context, m meeting) (string, error) {
		b, err := m.busy(ctx, time.Second, forever)
		if err != nil {
			return "", err
		}
		defer b.stop()
		argv, err := l.argv(m, append([]string{mode, b.addr}, args...)...)
		if err != nil {
			return "", err
		}
		return m.flood(ctx, b, m.dir, argv...)
	}
}
