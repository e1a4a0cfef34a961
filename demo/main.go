// Command demo is a small shop on rpcgate: an order service and a report service over an embedded database.
//
//	go run -C demo .         serves gRPC, gRPC-Web, Connect and REST on one port
//	go run -C demo . rush    plays the morning rush without gates and with gates, and compares the two
//
// Run it with -h to see the flags. The exit status is 0 on success, 1 if something failed or the gate broke a promise
// in the rush, 2 for a wrong flag, and 130 if a rush was interrupted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// The exit statuses.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130 // what a shell reports for a program ended by Ctrl-C
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run runs the command that args name and returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	command, args := commandOf(args)
	var err error
	switch command {
	case "serve":
		err = serve(ctx, args, stdout, stderr)
	case "rush":
		err = playRush(ctx, args, stdout, stderr)
	default:
		err = usageError(fmt.Sprintf("unknown command %q: want serve or rush", command))
	}
	var usage usageError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.As(err, &usage):
		fmt.Fprintf(stderr, "demo: %v (-h shows the flags)\n", usage)
		return exitUsage
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(stderr, "demo: interrupted")
		return exitInterrupted
	case errors.Is(err, errBroken): // playRush has printed it
		return exitFailed
	default:
		fmt.Fprintf(stderr, "demo: %v\n", err)
		return exitFailed
	}
}

// commandOf splits args into the command and its flags. The default is to serve.
func commandOf(args []string) (command string, rest []string) {
	if len(args) == 0 || len(args[0]) > 0 && args[0][0] == '-' {
		return "serve", args
	}
	return args[0], args[1:]
}
