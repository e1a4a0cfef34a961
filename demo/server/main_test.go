package server_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/rpcgate/rpcgate/demo/store"
)

// seed is the path of the shop that all tests start from, with a little more than 500 open orders. It is made once,
// because SQLite is slow under the race detector.
var seed string

func TestMain(m *testing.M) {
	status, err := withSeed(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(status)
}

func withSeed(run func() int) (status int, err error) {
	dir, err := os.MkdirTemp("", "rpcgate-demo-test-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if seed, err = store.Ensure(context.Background(), dir, 9000, nil); err != nil {
		return 0, err
	}
	return run(), nil
}
