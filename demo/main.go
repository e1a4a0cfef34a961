// Command demo is a small shop on rpcgate: an order service and a report service over an embedded database.
//
//	go run -C demo .         serves gRPC, gRPC-Web, Connect and REST on one port
//	go run -C demo . rush    plays the morning rush, without gates and with, and shows both side by side
//
// Run it with -h for the flags. It ends with status 0 when all went well, 1 when something failed or, after a rush,
// the gate broke a promise, 2 when a flag is wrong, and 130 when a rush was interrupted.
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

// The statuses that the program ends with.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130 // as shells say it of a program ended by Ctrl-C
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run runs the command of the arguments and returns the status to end with.
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
	case errors.Is(err, errBroken): // has been said already
		return exitFailed
	default:
		fmt.Fprintf(stderr, "demo: %v\n", err)
		return exitFailed
	}
}

// commandOf splits the command from its flags. Without one, the demo serves.
func commandOf(args []string) (command string, rest []string) {
	if len(args) == 0 || len(args[0]) > 0 && args[0][0] == '-' {
		return "serve", args
	}
	return args[0], args[1:]
}
