package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/rpcgate/rpcgate/demo/server"
	"github.com/rpcgate/rpcgate/demo/store"
	"github.com/rpcgate/rpcgate/demo/telemetry"
	"github.com/rpcgate/rpcgate/gate/gatelog"
)

// drainTime is how long the server waits for calls in flight when it ends, after the grace.
const drainTime = 10 * time.Second

// endTime is how long sending the last spans and metrics may take.
const endTime = 5 * time.Second

// maxHold is how long a call may hold its lease before the log and the metrics report it.
const maxHold = 10 * time.Second

// serveConfig has the values of the flags.
type serveConfig struct {
	addr    string
	gates   server.GateConfig
	ungated bool
	control bool
	hosts   []string // besides localhost, where control is allowed
	grace   time.Duration
	proxy   time.Duration // timeout of the proxy in front; 0: there is no proxy
}

func serveFlags(args []string, stdout io.Writer) (c serveConfig, err error) {
	fs := newFlags("[serve]", "serves orders and reports until it is interrupted.")
	fs.StringVar(&c.addr, "addr", "127.0.0.1:8080", "`address` to listen on")
	db := intFlag(fs, "gate", defaultGate, 1, 100_000, "`calls` in flight at the gate in front of the database")
	reports := intFlag(fs, "reports", 1, 1, 100_000, "`calls` in flight at the gate in front of the reports")
	fs.BoolVar(&c.ungated, "ungated", false, "serve without gates")
	fs.BoolVar(&c.control, "control", false, "let anyone who opens /debug/gate/ at localhost set limits there")
	fs.Func("control-host", "`host` besides localhost at which -control allows it; may be repeated", func(host string) error {
		if strings.ContainsAny(host, ":/") || host == "" {
			return errors.New("want a name or an IPv4 address without a port")
		}
		c.hosts = append(c.hosts, host)
		return nil
	})
	proxy := durationFlag(fs, "proxy-timeout", 0, time.Millisecond, 24*time.Hour,
		"`time` after which a proxy in front gives up; the demo warns if that is too soon")
	grace := durationFlag(fs, "grace", 0, 0, time.Hour,
		"`time` to go on after an interrupt, not ready any more, until balancers have noticed")
	if err := parseFlags(fs, args, stdout); err != nil {
		return serveConfig{}, err
	}
	c.proxy, c.grace = *proxy, *grace
	c.gates = server.GateConfig{
		DB: int64(*db), Reports: int64(*reports),
		// Retry-After has whole seconds: clients of HTTP come back in ten groups.
		RetryMin: 1 * time.Second, RetryMax: 10 * time.Second, MaxHold: maxHold,
	}
	return c, nil
}

// serve runs the server until ctx ends, then waits for the calls in flight.
func serve(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	c, err := serveFlags(args, stdout)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", c.addr)
	if err != nil {
		return usageError(fmt.Sprintf("invalid value %q for flag -addr: %v", c.addr, err))
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
	log := slog.New(slog.NewTextHandler(stderr, nil))
	seen, err := observe(ctx, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shutdown(seen)) }()
	var gates *server.Gates
	var decisions *gatelog.Logger
	if !c.ungated {
		if gates, err = server.NewGates(c.gates); err != nil {
			return err
		}
		decisions = gatelog.New(log)
		defer decisions.Close() // writes the last summaries
		gates.Observe(decisions)
		warnOfProxy(log, gates, c.proxy)
	}
	greet(stderr, listener.Addr().String())
	ops := &server.Ops{Metrics: seen.Scraped, Control: c.control, ControlHosts: c.hosts, Log: decisions, Grace: c.grace}
	return serveUntil(ctx, server.New(st, gates, nil, ops), listener, c.grace+drainTime, stderr)
}

// warnOfProxy logs a warning if a proxy with the given timeout gives up before the server does. 0 means that there is
// no proxy.
func warnOfProxy(log *slog.Logger, gates *server.Gates, timeout time.Duration) {
	if timeout == 0 {
		return
	}
	if err := gates.CheckProxy(timeout); err != nil {
		log.Warn("the proxy gives up before the server", "error", err)
	}
}

// observe sets up OpenTelemetry for the whole program.
func observe(ctx context.Context, log *slog.Logger) (*telemetry.Telemetry, error) {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("telemetry", "error", err) }))
	t, err := telemetry.New(ctx)
	if err != nil {
		return nil, err
	}
	t.SetGlobal()
	return t, nil
}

// shutdown sends the last spans and metrics. It has its own context, since the server's has ended by then.
func shutdown(t *telemetry.Telemetry) error {
	end, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	return t.Shutdown(end)
}

func serveUntil(ctx context.Context, s *server.Server, l net.Listener, most time.Duration, stderr io.Writer) error {
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	fmt.Fprintln(stderr, "demo: not ready any more, waiting for the calls in flight")
	end, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	return errors.Join(s.Shutdown(end), <-served)
}

func greet(w io.Writer, addr string) {
	fmt.Fprintf(w, `demo: gRPC, gRPC-Web, Connect and REST on http://%[1]s; Ctrl-C ends it. Try

  curl 'http://%[1]s/v1/orders?state=open&limit=3'
  curl -d '{"region": "north coast", "limit": 3}' -H 'Content-Type: application/json' \
    http://%[1]s/demo.orders.v1.OrderService/ListOpenOrders
  grpcurl -plaintext -d '{"year": 2026, "month": 11}' %[1]s demo.reports.v1.ReportService/MonthlyReport

Watch the gates on http://%[1]s/debug/gate/. Also there: /healthz, and /metrics for Prometheus.

`, addr)
}
