// Command soak proves that a gate loses nothing: it compares a gate with a model of it over millions of random steps in
// virtual time, lets grants and cancellations race, and puts gates and whole servers under stress.
//
//	go run ./internal/soak                      # all four, with the defaults
//	go run ./internal/soak -steps 1000000       # only what is named
//	go run -race ./internal/soak -for 10m
//	go run -race ./internal/soak -hosts 10m
//
// It exits with 1 if anything was lost, and with 2 if it was called wrongly.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/rpcgate/rpcgate/internal/soak/hosts"
	"github.com/rpcgate/rpcgate/internal/soak/model"
	"github.com/rpcgate/rpcgate/internal/soak/stress"
)

type options struct {
	steps, races int
	stress       time.Duration
	hosts        time.Duration
	seed         uint64
}

func main() {
	o, err := parse(os.Args[1:], os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(0)
	case err != nil:
		os.Exit(2)
	}
	// Virtual time is only to be had in a test. This is one; it exits by itself.
	os.Args = os.Args[:1]
	testing.Main(func(string, string) (bool, error) { return true, nil },
		[]testing.InternalTest{{Name: "soak", F: o.run}}, nil, nil)
}

// parse reads the flags, and tells out what is wrong with them.
func parse(args []string, out io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.Usage = func() {
		fmt.Fprint(out, "usage: soak [flags]\n\nIf -steps, -races, -for or -hosts is given, only what is named is run.\n\n")
		flags.PrintDefaults()
	}
	flags.IntVar(&o.steps, "steps", 10_000_000, "random `steps` to compare a gate with its model")
	flags.IntVar(&o.races, "races", 1_000_000, "`races` between a grant and a cancellation")
	flags.DurationVar(&o.stress, "for", time.Minute, "how `long` to put gates under stress, in real time")
	flags.DurationVar(&o.hosts, "hosts", time.Minute, "how `long` to put servers of all hosts under stress, in real time")
	flags.Uint64Var(&o.seed, "seed", 0, "`seed` of what is drawn at random; 0: a new one")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	err := o.check(flags.Args())
	if err != nil {
		fmt.Fprintln(out, "soak:", err)
		return o, err
	}
	named := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { named[f.Name] = true })
	if named["steps"] || named["races"] || named["for"] || named["hosts"] {
		if !named["steps"] {
			o.steps = 0
		}
		if !named["races"] {
			o.races = 0
		}
		if !named["for"] {
			o.stress = 0
		}
		if !named["hosts"] {
			o.hosts = 0
		}
	}
	if o.seed == 0 {
		o.seed = rand.Uint64()
	}
	return o, nil
}

func (o options) check(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("what is %q? There are only flags, see -help", rest[0])
	case o.steps < 0:
		return fmt.Errorf("-steps: want 0 or more, got %d", o.steps)
	case o.races < 0:
		return fmt.Errorf("-races: want 0 or more, got %d", o.races)
	case o.stress < 0:
		return fmt.Errorf("-for: want 0 or more, got %s", o.stress)
	case o.hosts < 0:
		return fmt.Errorf("-hosts: want 0 or more, got %s", o.hosts)
	}
	return nil
}

func (o options) run(t *testing.T) {
	fmt.Printf("seed %d\n", o.seed)
	o.part(t, o.steps > 0, "model", func(s *shout) (fmt.Stringer, error) {
		return model.Run(t, model.Options{Seed: o.seed, Steps: o.steps, Progress: func(c model.Counts) { s.say(c) }})
	})
	o.part(t, o.races > 0, "races", func(s *shout) (fmt.Stringer, error) {
		return stress.Races(o.races, o.seed, func(c stress.RaceCounts) { s.say(c) })
	})
	o.part(t, o.stress > 0, "stress", func(*shout) (fmt.Stringer, error) {
		var sum stress.Counts
		rounds := max(int(o.stress/(20*time.Second)), 1)
		for round := range rounds {
			err := stress.Run(stress.Options{
				For: o.stress / time.Duration(rounds), Procs: []int{1, 2, 4, 8}, Seed: o.seed + uint64(round)<<8,
				Progress: func(c stress.Counts) {
					fmt.Printf("stress  %s\n", c)
					sum = sum.Plus(c)
				},
			})
			if err != nil {
				return sum, err
			}
		}
		return sum, nil
	})
	o.part(t, o.hosts > 0, "hosts", func(*shout) (fmt.Stringer, error) {
		return hosts.Run(t, hosts.Options{For: o.hosts, Seed: o.seed, Progress: func(host string, c hosts.Counts) {
			fmt.Printf("hosts   %s: %s\n", host, c)
		}})
	})
	if t.Failed() {
		fmt.Println("soak: something was lost, see above")
	} else {
		fmt.Println("soak: nothing was lost")
	}
}

// part runs one part and says how it ended.
func (o options) part(t *testing.T, wanted bool, name string, run func(*shout) (fmt.Stringer, error)) {
	if !wanted {
		return
	}
	began := time.Now()
	sum, err := run(&shout{name: name, last: began})
	verdict := "ok"
	if err != nil {
		t.Fail()
		verdict = "FAILED: " + err.Error()
	}
	fmt.Printf("%-7s %s in %s: %s\n", name, sum, time.Since(began).Round(time.Millisecond), verdict)
}

// shout says how far a part has come, every few seconds.
type shout struct {
	name string
	last time.Time
}

func (s *shout) say(counts fmt.Stringer) {
	if time.Since(s.last) > 5*time.Second {
		fmt.Printf("%-7s %s …\n", s.name, counts)
		s.last = time.Now()
	}
}
