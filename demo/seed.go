package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/rpcgate/rpcgate/demo/store"
)

// ensureSeed returns the path of the demo's database. On the first start it makes the database and reports progress.
func ensureSeed(ctx context.Context, stderr io.Writer) (string, error) {
	dir, err := store.DefaultDir()
	if err != nil {
		return "", err
	}
	const orders = store.DefaultOrders
	terminal := isTerminal(stderr)
	return store.Ensure(ctx, dir, orders, func(done int) {
		switch {
		case terminal:
			fmt.Fprintf(stderr, "\rdemo: making %d orders in %s: %d %%", orders, dir, 100*done/orders)
			if done == orders {
				fmt.Fprintln(stderr)
			}
		case done == 0:
			fmt.Fprintf(stderr, "demo: making %d orders in %s\n", orders, dir)
		}
	})
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
