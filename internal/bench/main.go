package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/zeromicro/go-zero/core/logx"

	"github.com/rpcgate/rpcgate/internal/bench/calls"
	"github.com/rpcgate/rpcgate/internal/bench/cpu"
	"github.com/rpcgate/rpcgate/internal/bench/goodput"
	"github.com/rpcgate/rpcgate/internal/bench/growth"
	"github.com/rpcgate/rpcgate/internal/bench/measure"
	"github.com/rpcgate/rpcgate/internal/bench/micro"
	"github.com/rpcgate/rpcgate/internal/bench/report"
	"github.com/rpcgate/rpcgate/internal/bench/windows"
)

func main() {
	logx.SetWriter(logx.NewWriter(io.Discard))                 // go-zero logs what it thinks of the machine, every minute
	if slices.Equal(os.Args[1:], []string{cpu.ServeCommand}) { // started by another one of us
		if err := cpu.Serve(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "bench: server:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// part is something that can be measured by itself.
type part struct {
	name, about string
	run         func(*measure.Lab, *report.Table) error
}

func parts() []part {
	return []part{
		{"micro", "gates and other limiters, by themselves", micro.Run},
		{"growth", "more routes, gates and keys: time and memory", growth.Run},
		{"calls", "what interceptors add to a call, by themselves and as part of whole calls", calls.Run},
		{"cpu", "CPU and memory of a server in a process of its own, for answered, refused and waiting calls", cpu.Run},
		{"windows", "uploads over HTTP/2 with round trips, and beside others that wait on their connection", windows.Run},
		{"goodput", "a database under too much load, in real time, with a gate and without", goodput.Run},
	}
}

// run is the program without the process around it: it returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	chosen, quick, err := parse(args)
	if err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(stderr, "bench:", err)
		}
		usage(stderr)
		return 2
	}
	lab, table := measure.NewLab(quick), new(report.Table)
	for _, p := range chosen {
		begin := time.Now()
		if err := p.run(lab, table); err != nil {
			fmt.Fprintf(stderr, "bench: %s: %v\n", p.name, err)
			return 1
		}
		fmt.Fprintf(stderr, "%s: %s\n", p.name, time.Since(begin).Round(time.Second))
	}
	if err := table.Write(stdout); err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return 1
	}
	return 0
}

// parse reads the arguments: the name of a part or "all", which is the default, and -quick on either side of it.
func parse(args []string) (chosen []part, quick bool, err error) {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.BoolVar(&quick, "quick", false, "")
	if err := flags.Parse(args); err != nil {
		return nil, false, err
	}
	name := "all"
	if flags.NArg() > 0 {
		name = flags.Arg(0)
		if err := flags.Parse(flags.Args()[1:]); err != nil {
			return nil, false, err
		}
	}
	if flags.NArg() > 0 {
		return nil, false, fmt.Errorf("one part at a time, or all: %s", strings.Join(flags.Args(), " "))
	}
	if name == "all" {
		return parts(), quick, nil
	}
	i := slices.IndexFunc(parts(), func(p part) bool { return p.name == name })
	if i < 0 {
		return nil, false, fmt.Errorf("no part is called %q", name)
	}
	return parts()[i : i+1], quick, nil
}

func usage(w io.Writer) {
	fmt.Fprintln(w, "usage: go run . [part] [-quick]")
	for _, p := range parts() {
		fmt.Fprintf(w, "  %-8s %s\n", p.name, p.about)
	}
	fmt.Fprintln(w, "  all      all of them, which takes up to 15 minutes (the default)")
	fmt.Fprintln(w, "  -quick   at most a minute, to see that it works: the numbers say nothing")
}
