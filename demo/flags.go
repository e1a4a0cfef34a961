package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"time"
)

// usageError is a mistake in the command line.
type usageError string

func (e usageError) Error() string { return string(e) }

// newFlags returns an empty flag set for the command.
func newFlags(command, about string) *flag.FlagSet {
	fs := flag.NewFlagSet("demo "+command, flag.ContinueOnError)
	fs.SetOutput(io.Discard) // run reports mistakes, parseFlags writes the help
	fs.Usage = func() {
		fmt.Fprintf(fs.Output(), "%s %s\n", fs.Name(), about)
		fmt.Fprint(fs.Output(), "The database is made on the first start, in the folder rpcgate-demo of the user's cache folder.\n\nFlags:\n")
		fs.PrintDefaults()
	}
	return fs
}

// parseFlags parses args, which must be flags only. For -h it writes the help to out and returns flag.ErrHelp. For a
// mistake it returns a usageError that names the flag and the value.
func parseFlags(fs *flag.FlagSet, args []string, out io.Writer) error {
	err := fs.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fs.SetOutput(out)
		fs.Usage()
		return err
	case err != nil:
		return usageError(err.Error())
	case fs.NArg() > 0:
		return usageError(fmt.Sprintf("unexpected argument %q", fs.Arg(0)))
	}
	return nil
}

// intFlag defines a flag for a number from low to high.
func intFlag(fs *flag.FlagSet, name string, value, low, high int, usage string) *int {
	fs.Var(&boundedInt{&value, low, high}, name, usage)
	return &value
}

type boundedInt struct {
	value     *int
	low, high int
}

func (b *boundedInt) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < b.low || n > b.high {
		return fmt.Errorf("want a number from %d to %d", b.low, b.high)
	}
	*b.value = n
	return nil
}

func (b *boundedInt) String() string {
	if b.value == nil { // the flag package asks for the zero value
		return ""
	}
	return strconv.Itoa(*b.value)
}

// durationFlag defines a flag for a time from low to high. 0 as the value means that there is no default.
func durationFlag(fs *flag.FlagSet, name string, value, low, high time.Duration, usage string) *time.Duration {
	fs.Var(&boundedDuration{&value, low, high}, name, usage)
	return &value
}

type boundedDuration struct {
	value     *time.Duration
	low, high time.Duration
}

func (b *boundedDuration) Set(s string) error {
	d, err := time.ParseDuration(s)
	if err != nil || d < b.low || d > b.high {
		return fmt.Errorf("want a time from %s to %s, such as 2s", b.low, b.high)
	}
	*b.value = d
	return nil
}

func (b *boundedDuration) String() string {
	if b.value == nil || *b.value == 0 {
		return ""
	}
	return b.value.String()
}
