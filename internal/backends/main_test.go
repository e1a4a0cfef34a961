//go:build backends

package backends

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// jaegerVersion is that in jaeger/go.mod; the test that it is says so.
const jaegerVersion = "v1.76.0"

var (
	demoBinary   = sync.OnceValues(buildDemo)
	jaegerBinary = sync.OnceValues(buildJaeger)

	building, stopBuilding = context.WithCancel(context.Background())
)

func TestMain(m *testing.M) {
	var builds sync.WaitGroup
	builds.Go(func() { _, _ = jaegerBinary() }) // takes longest; Prometheus has its turn meanwhile
	code := m.Run()
	stopBuilding()
	builds.Wait()
	os.Exit(code)
}

// buildDemo builds the demo. The go command's cache makes it quick.
func buildDemo() (string, error) {
	dir, err := cacheDir()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "demo")
	return path, build("../../demo", path, ".")
}

// buildJaeger builds Jaeger unless that has been done before.
func buildJaeger() (string, error) {
	dir, err := cacheDir()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "jaeger-"+jaegerVersion)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	half := fmt.Sprintf("%s.%d", path, os.Getpid())
	if err := build("jaeger", half, "github.com/jaegertracing/jaeger/cmd/all-in-one"); err != nil {
		return "", err
	}
	return path, os.Rename(half, path)
}

func cacheDir() (string, error) {
	user, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(user, "rpcgate")
	return dir, os.MkdirAll(dir, 0o755)
}

func build(dir, output, pkg string) error {
	cmd := exec.CommandContext(building, "go", "build", "-o", output, pkg)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it ends the compilers, too
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w\n%s", pkg, err, out)
	}
	return nil
}
