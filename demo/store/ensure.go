package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// DefaultOrders is the number of orders in the demo's database.
const DefaultOrders = 600_000

// DefaultDir returns the absolute path of the folder for seeds. It is in the user's cache folder or, if that cannot be
// written, in the folder for temporary files.
func DefaultDir() (string, error) {
	var errs []error
	cache, err := os.UserCacheDir()
	errs = append(errs, err)
	for _, base := range []string{cache, os.TempDir()} {
		if base == "" {
			continue
		}
		dir, err := filepath.Abs(filepath.Join(base, "rpcgate-demo"))
		if err == nil {
			err = os.MkdirAll(dir, 0o700)
		}
		if err == nil {
			err = tryWrite(dir)
		}
		if err == nil {
			return dir, nil
		}
		errs = append(errs, err)
	}
	return "", fmt.Errorf("no folder for the demo's database: %w", errors.Join(errs...))
}

func tryWrite(dir string) error {
	f, err := os.CreateTemp(dir, "try-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// Ensure returns the path of the seed with that many orders in dir, and makes the seed if it does not exist. While it
// does, it calls progress, if that is not nil, with the number of orders made so far, beginning with 0.
//
// A seed is complete or does not exist: it is made under another name and renamed when it is complete. If several
// processes start at once, one makes the seed and the others wait for it.
func Ensure(ctx context.Context, dir string, orders int, progress func(done int)) (string, error) {
	if orders <= 0 {
		return "", fmt.Errorf("number of orders must be positive, got %d", orders)
	}
	name := fmt.Sprintf("orders-v%d-%d", version, orders)
	path := filepath.Join(dir, name+".db")
	if exists(path) {
		return path, nil
	}
	unlock, err := lock(ctx, filepath.Join(dir, name+".lock"))
	if err != nil {
		return "", fmt.Errorf("wait for the database to be made: %w", err)
	}
	defer unlock()
	if exists(path) { // another process made it while this one waited
		return path, nil
	}
	if progress == nil {
		progress = func(int) {}
	}
	// Only the holder of the lock makes this file, so one that is there was left by a process that died.
	half := path + ".half"
	if err := removeDatabase(half); err != nil {
		return "", err
	}
	if err := makeSeed(ctx, half, orders, progress); err != nil {
		return "", errors.Join(fmt.Errorf("make the database: %w", err), removeDatabase(half))
	}
	return path, os.Rename(half, path)
}

func makeSeed(ctx context.Context, path string, orders int, progress func(done int)) (err error) {
	// No journal and no syncing: an unfinished file is thrown away.
	db, err := sql.Open("sqlite", dsn(path, "journal_mode(OFF)", "synchronous(OFF)"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	progress(0)
	return fill(ctx, db, orders, progress)
}

// Copy copies the seed at path into the folder for temporary files. It returns the absolute path of the copy and a
// function that removes it.
func Copy(path string) (copied string, remove func() error, err error) {
	temp, err := filepath.Abs(os.TempDir())
	if err != nil {
		return "", nil, err
	}
	dir, err := os.MkdirTemp(temp, "rpcgate-demo-")
	if err != nil {
		return "", nil, err
	}
	remove = func() error { return os.RemoveAll(dir) }
	copied = filepath.Join(dir, "orders.db")
	if err := copyFile(path, copied); err != nil {
		return "", nil, errors.Join(fmt.Errorf("copy the database: %w", err), remove())
	}
	return copied, remove, nil
}

func copyFile(from, to string) (err error) {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dst.Close()) }()
	_, err = io.Copy(dst, src)
	return err
}

func exists(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func removeDatabase(path string) error {
	var errs []error
	for _, suffix := range []string{"", "-journal", "-wal", "-shm"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
