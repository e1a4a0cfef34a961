package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/rpcgate/rpcgate/internal/readme"
)

// section is where the table stands in the README.
func section() readme.Section {
	return readme.Section{
		Begin: "<!-- clients: go run ./internal/interop/clients -write README.md -->\n",
		End:   "<!-- /clients -->\n",
	}
}

func main() {
	only := flag.String("only", "", "run only the rows with this `text` in the names of client and proxy")
	write := flag.String("write", "", "put the table into `file`, between its marks")
	install := flag.Bool("install", false, "install the packages of the rows with apt-get, then run")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *only, *write, *install); err != nil {
		fmt.Fprintln(os.Stderr, "clients:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, only, write string, install bool) error {
	if only != "" && write != "" {
		return errors.New("-write: want the whole table, got -only as well")
	}
	chosen := slices.DeleteFunc(rows(), func(r row) bool { return !strings.Contains(r.name(), only) })
	if len(chosen) == 0 {
		return fmt.Errorf("-only: no row has %q in its name", only)
	}
	if install {
		if err := installFor(ctx, chosen); err != nil {
			return err
		}
	}
	dir, err := os.MkdirTemp("", "clients")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	outcomes := make([]outcome, len(chosen))
	for i, r := range chosen {
		outcomes[i] = r.meet(ctx, dir, 0)
		fmt.Fprintf(os.Stderr, "%s: %s\n", r.name(), outcomes[i])
	}
	table := markdown(chosen, outcomes)
	fmt.Print(table)
	if write != "" {
		if err := section().Write(write, table); err != nil {
			return err
		}
	}
	if n := failures(chosen, outcomes); n > 0 {
		return fmt.Errorf("%d rows do not do what they promise", n)
	}
	return nil
}

// installFor installs what the rows need, from Debian.
func installFor(ctx context.Context, chosen []row) error {
	var packages []string
	for _, r := range chosen {
		for _, t := range r.tools() {
			packages = append(packages, t.packages...)
		}
	}
	slices.Sort(packages)
	install := append([]string{"install", "-y", "--no-install-recommends"}, slices.Compact(packages)...)
	for _, args := range [][]string{{"update", "-q"}, install} {
		cmd := exec.CommandContext(ctx, "apt-get", args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("apt-get %s: %w", args[0], err)
		}
	}
	return nil
}

// patience is how long a client may take for all of a row with one server.
const patience = 2 * time.Minute
