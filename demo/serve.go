package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/rpcgate/rpcgate/demo/server"
	"github.com/rpcgate/rpcgate/demo/store"
)

// drainTime is how long calls that are inside get when the server ends.
const drainTime = 10 * time.Second

// serve runs the server until ctx ends, and then lets the calls inside finish.
func serve(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := newFlags("[serve]", "serves orders and reports until it is interrupted.")
	addr := fs.String("addr", "127.0.0.1:8080", "`address` to listen on")
	db := intFlag(fs, "gate", defaultGate, 1, 100_000, "`calls` in flight at the gate in front of the database")
	reports := intFlag(fs, "reports", 2, 1, 100_000, "`calls` in flight at the gate in front of the reports")
	ungated := fs.Bool("ungated", false, "serve without gates")
	if err := parseFlags(fs, args, stdout); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", *addr)
	if err != nil {
		return usageError(fmt.Sprintf("invalid value %q for flag -addr: %v", *addr, err))
	}
	defer listener.Close()
	seed, err := ensureSeed(ctx, stderr)
	if err != nil {
		return err
	}
	path, remove, err := store.Copy(seed)
	if err != nil {
		return err
	}
	defer remove()
	st, err := store.Open(path, server.Pool)
	if err != nil {
		return err
	}
	defer st.Close()
	var gates *server.Gates
	if !*ungated {
		gates, err = server.NewGates(server.GateConfig{
			DB: int64(*db), Reports: int64(*reports),
			RetryMin: 200 * time.Millisecond, RetryMax: 600 * time.Millisecond,
		})
		if err != nil {
			return err
		}
	}
	greet(stderr, listener.Addr().String())
	return serveUntil(ctx, server.New(st, gates, nil), listener, stderr)
}

func serveUntil(ctx context.Context, s *server.Server, l net.Listener, stderr io.Writer) error {
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	fmt.Fprintln(stderr, "demo: closing the gates, waiting for the calls inside")
	end, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	return errors.Join(s.Shutdown(end), <-served)
}

func greet(w io.Writer, addr string) {
	fmt.Fprintf(w, `demo: gRPC, gRPC-Web and Connect on http://%[1]s; Ctrl-C ends it. Try

  curl -d '{"region": "north coast", "limit": 3}' -H 'Content-Type: application/json' \
    http://%[1]s/demo.orders.v1.OrderService/ListOpenOrders
  grpcurl -plaintext -d '{"year": 2026, "month": 11}' %[1]s demo.reports.v1.ReportService/MonthlyReport

`, addr)
}
