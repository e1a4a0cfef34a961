package store_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rpcgate/rpcgate/demo/store"
)

func TestEnsureMakesTheSeedOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var last int
	first, err := store.Ensure(t.Context(), dir, 300, func(done int) { last = done })
	if err != nil {
		t.Fatal(err)
	}
	if last != 300 {
		t.Errorf("progress ended at %d, want 300", last)
	}
	again, err := store.Ensure(t.Context(), dir, 300, func(int) { t.Error("the seed was made twice") })
	if err != nil {
		t.Fatal(err)
	}
	if again != first {
		t.Errorf("second path %q differs from the first %q", again, first)
	}
}

func TestEnsureLeavesNothingHalfMade(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := store.Ensure(ctx, dir, 6000, func(done int) {
		if done > 0 {
			cancel() // as Ctrl-C does, in the middle
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
	for _, name := range databases(t, dir) {
		t.Errorf("%s was left behind", name)
	}
}

func TestEnsureSurvivesAProcessThatDied(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, err := store.Ensure(t.Context(), dir, 100, nil)
	if err != nil {
		t.Fatal(err)
	}
	// A process that is killed while it makes the seed leaves the half-made file and the lock file, unlocked.
	if err := os.Rename(path, path+".half"); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path+".half", 5000); err != nil {
		t.Fatal(err)
	}
	again, err := store.Ensure(t.Context(), dir, 100, nil)
	if err != nil {
		t.Fatal(err)
	}
	if names := databases(t, dir); len(names) != 1 || names[0] != again {
		t.Errorf("files %q, want the seed alone", names)
	}
	open(t, again)
}

func TestEnsureByManyAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var made atomic.Int32
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			_, err := store.Ensure(t.Context(), dir, 500, func(done int) {
				if done == 0 {
					made.Add(1)
				}
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := made.Load(); n != 1 {
		t.Errorf("the seed was made %d times, want once", n)
	}
}

func TestDefaultDirIsAbsolute(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("HOME", "home")
	dir, err := store.DefaultDir()
	if err != nil {
		t.Fatal(err)
	}
	if !filepath.IsAbs(dir) {
		t.Errorf("got %s; messages that name it could not be followed from another folder", dir)
	}
}

func TestEnsureRefusesNoOrders(t *testing.T) {
	t.Parallel()
	_, err := store.Ensure(t.Context(), t.TempDir(), 0, nil)
	if err == nil || !strings.Contains(err.Error(), "0") {
		t.Errorf("error %v, want one that names the number", err)
	}
}

func TestCopyIsIndependent(t *testing.T) {
	t.Parallel()
	seed, err := store.Ensure(t.Context(), t.TempDir(), 100, nil)
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(seed)
	if err != nil {
		t.Fatal(err)
	}
	path, remove, err := store.Copy(seed)
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(path, 2)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Create(t.Context(), lamp, eight); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Close(), remove()); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(seed)
	if err != nil {
		t.Fatal(err)
	}
	if string(before) != string(after) {
		t.Error("writing to the copy changed the seed")
	}
	if _, err := os.Stat(filepath.Dir(path)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the copy was not removed: %v", err)
	}
}

func TestCopyHasAnAbsolutePath(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("TMPDIR", ".")
	if err := os.WriteFile("seed", []byte("orders"), 0o600); err != nil {
		t.Fatal(err)
	}
	path, remove, err := store.Copy("seed")
	if err != nil {
		t.Fatal(err)
	}
	if !filepath.IsAbs(path) {
		t.Errorf("got %s, want an absolute path", path)
	}
	if err := remove(); err != nil {
		t.Error(err)
	}
}

func databases(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.db*"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}
