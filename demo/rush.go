package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/rpcgate/rpcgate/demo/rush"
)

// defaultGate is the limit of the gate in front of the database. The bottleneck of an embedded database is the number
// of cores. Measured on two cores, gates of 2 and 3 answer the most calls in time, and 2 is the faster one. A gate as
// large as the pool of 20 answers fewer than half as many.
const defaultGate = 2

// errBroken means that the gate broke a promise.
var errBroken = errors.New("the gate broke a promise")

// playRush plays the morning rush and writes the result.
func playRush(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	c, asJSON, err := rushFlags(args, stdout)
	if err != nil {
		return err
	}
	c.Progress = func(line string) { fmt.Fprintln(stderr, "demo:", line) }
	if c.Seed, err = ensureSeed(ctx, stderr); err != nil {
		return err
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(min(rush.Cores, runtime.NumCPU())))
	if c.Deadline == 0 {
		if c.Deadline, err = rush.Deadline(ctx, c); err != nil {
			return err
		}
	}
	result, err := rush.Run(ctx, c)
	if err != nil {
		return err
	}
	if asJSON {
		err = json.NewEncoder(stdout).Encode(result)
	} else {
		err = result.WriteTable(stdout, c)
	}
	if err != nil || result.OK {
		return err
	}
	for _, p := range result.Promises {
		if !p.Kept {
			fmt.Fprintln(stderr, "demo: broken promise:", p.Text)
		}
	}
	return errBroken
}

func rushFlags(args []string, stdout io.Writer) (c rush.Config, asJSON bool, err error) {
	fs := newFlags("rush", "plays the morning rush without gates and with gates, and compares the two.")
	clients := intFlag(fs, "clients", 300, 1, 10_000, "`number` of clients that ask at once")
	deadline := durationFlag(fs, "deadline", 0, 100*time.Millisecond, time.Minute,
		"`time` limit of each call, and the time between two rounds of calls (default 60 times what one query takes)")
	duration := durationFlag(fs, "duration", 10*time.Second, 100*time.Millisecond, 10*time.Minute,
		"`time` that the rush takes on each side")
	size := intFlag(fs, "gate", defaultGate, 1, 100_000, "`calls` in flight at the gate in front of the database")
	fs.BoolVar(&asJSON, "json", false, "write one JSON object instead of a table")
	if err := parseFlags(fs, args, stdout); err != nil {
		return rush.Config{}, false, err
	}
	if *duration < *deadline {
		return rush.Config{}, false, usageError(fmt.Sprintf(
			"invalid value %q for flag -duration: want at least the deadline of %s", *duration, *deadline))
	}
	return rush.Config{Clients: *clients, Deadline: *deadline, Duration: *duration, Gate: int64(*size)}, asJSON, nil
}
