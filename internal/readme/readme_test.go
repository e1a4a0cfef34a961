package readme

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// imports are the packages that the README's snippets may use without saying so.
func imports() map[string]string {
	const module = "github.com/rpcgate/rpcgate/"
	return map[string]string{
		"connect": "connectrpc.com/connect", "connectv2": "connectrpc.com/connect/v2",
		"collector": "go.opentelemetry.io/proto/otlp/collector/trace/v1",
		"context":   "context", "errors": "errors", "http": "net/http", "slog": "log/slog", "time": "time",
		"grpc": "google.golang.org/grpc", "keepalive": "google.golang.org/grpc/keepalive", "health": "google.golang.org/grpc/health", "proto": "google.golang.org/protobuf/proto",
		"gate": module + "gate", "gatelog": module + "gate/gatelog", "gatedebug": module + "gate/gatedebug",
		"interceptor": module + "interceptor", "grpcgate": module + "interceptor/grpcgate",
		"connectgate": module + "interceptor/connectgate", "httpgate": module + "interceptor/httpgate",
		"otelgate": module + "interceptor/otelgate", "gatewaygate": module + "interceptor/gatewaygate",
		"runtime": "github.com/grpc-ecosystem/grpc-gateway/v2/runtime", "vanguard": "connectrpc.com/vanguard",
		"cors": "connectrpc.com/cors", "rscors": "github.com/rs/cors",
	}
}

func TestEveryCodeBlockCompilesInAnEmptyModule(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	blocks := Blocks(read(t, filepath.Join(root, "README.md")))
	if len(blocks) < 2 {
		t.Fatalf("found %d blocks of Go in the README, want at least those for grpc-go and Connect", len(blocks))
	}
	dir := t.TempDir()
	writeModule(t, dir, root)
	for i, b := range blocks {
		code, err := b.File(imports())
		if err != nil {
			t.Fatalf("README.md: %v", err)
		}
		write(t, filepath.Join(dir, fmt.Sprintf("block%d_line%d", i+1, b.Line), "readme.go"), code)
	}
	for _, args := range [][]string{{"mod", "tidy"}, {"build", "./..."}, {"vet", "./..."}} {
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-buildvcs=false")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

func TestFirstExampleIsAProgramOfAtMost15LinesOfCode(t *testing.T) {
	blocks := Blocks(read(t, "../../README.md"))
	lines := 0
	for line := range strings.Lines(blocks[0].Code) {
		if strings.TrimSpace(line) != "" {
			lines++
		}
	}
	if lines > 15 || !strings.HasPrefix(blocks[0].Code, "package main\n") {
		t.Errorf("the first block has %d lines of code, want a package main of at most 15", lines)
	}
	if blocks[0].Line > 20 {
		t.Errorf("the first block begins at line %d of the README, want it on the first screen", blocks[0].Line)
	}
}

func TestABlockThatDoesNotParseIsReportedWithItsLine(t *testing.T) {
	blocks := Blocks("text\n\n```go\nfunc {\n```\n")
	if _, err := blocks[0].File(nil); err == nil || !strings.Contains(err.Error(), "line 4") {
		t.Errorf("got %v, want an error that names line 4", err)
	}
}

// writeModule makes the reader's module. It requires the kit and what the snippet
// about OTLP needs besides, in a release that raises no other requirement. The
// sums are those of the kit, so that few are looked up.
func writeModule(t *testing.T, dir, root string) {
	t.Helper()
	write(t, filepath.Join(dir, "go.mod"), fmt.Sprintf(`module example.com/reader

go 1.26

require (
	github.com/rpcgate/rpcgate v0.0.0
	go.opentelemetry.io/proto/otlp v1.9.0
)

replace github.com/rpcgate/rpcgate => %s
`, root))
	write(t, filepath.Join(dir, "go.sum"), read(t, filepath.Join(root, "go.sum")))
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
