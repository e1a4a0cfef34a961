package model

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rpcgate/rpcgate/gate"
)

// Options say how long to run, and what else to look at.
type Options struct {
	Seed  uint64
	Steps int
	// Check, if it is not nil, is asked after every step.
	Check func(*gate.Gate) error
	// Progress, if it is not nil, hears of the counts now and then.
	Progress func(Counts)
}

// Counts say what has been run.
type Counts struct {
	Steps, Rounds                 int
	Accepted, Rejected, Abandoned int
	// Races were grants at the same instant as a cancellation or the end of the wait, RacesWon those that
	// end with a lease.
	Races, RacesWon int
}

func (c *Counts) add(o Counts) {
	c.Steps += o.Steps
	c.Rounds++
	c.Accepted += o.Accepted
	c.Rejected += o.Rejected
	c.Abandoned += o.Abandoned
	c.Races += o.Races
	c.RacesWon += o.RacesWon
}

// String is a line for people.
func (c Counts) String() string {
	return fmt.Sprintf("%d steps at %d gates: %d accepted, %d rejected, %d abandoned; %d races for a slot, %d won",
		c.Steps, c.Rounds, c.Accepted, c.Rejected, c.Abandoned, c.Races, c.RacesWon)
}

const stepsPerGate = 500

// Run drives one gate after the other. The error says where a gate was not as the reference, with the shortest list of
// operations that was found to show it.
func Run(t *testing.T, o Options) (Counts, error) {
	var counts Counts
	for n := uint64(0); counts.Steps < o.Steps; n++ {
		r := rand.New(rand.NewPCG(o.Seed, n))
		c := drawConfig(r)
		ops := make([]op, min(stepsPerGate, o.Steps-counts.Steps))
		for i := range ops {
			ops[i] = drawOp(r)
		}
		run := round{config: c, check: o.Check}
		did, err := run.do(t, ops, nil)
		counts.add(did)
		if err != nil {
			return counts, fmt.Errorf("seed %d, gate %d: %w\n%s", o.Seed, n, err, run.explain(t, ops[:did.Steps]))
		}
		if o.Progress != nil {
			o.Progress(counts)
		}
	}
	return counts, nil
}

// round is the life of one gate.
type round struct {
	config config
	check  func(*gate.Gate) error
}

func (r round) do(t *testing.T, ops []op, trace func(string)) (counts Counts, err error) {
	synctest.Test(t, func(t *testing.T) {
		var d *driver
		if d, err = newDriver(r.config, r.check, trace); err != nil {
			return
		}
		defer func() { counts = d.counts }()
		for i, o := range ops {
			if err = d.step(o); err != nil {
				err = fmt.Errorf("step %d, %s: %w", i+1, kinds[o.kind].name, err)
				d.abort(t, err)
				return
			}
		}
		if err = d.finish(); err != nil {
			d.abort(t, err)
		}
	})
	return counts, err
}

// explain leaves out operations for as long as the rest still shows an error, and tells what is left.
func (r round) explain(t *testing.T, ops []op) string {
	tries := 0
	for size := len(ops) / 2; size > 0; size /= 2 {
		for at := 0; at+size <= len(ops) && tries < 2000; {
			fewer := append(append([]op{}, ops[:at]...), ops[at+size:]...)
			tries++
			if _, err := r.do(t, fewer, nil); err != nil {
				ops = fewer
			} else {
				at += size
			}
		}
	}
	var told strings.Builder
	fmt.Fprintf(&told, "%d operations at a gate with %s:\n", len(ops), r.config)
	_, err := r.do(t, ops, func(line string) { told.WriteString(line + "\n") })
	fmt.Fprintf(&told, "-> %v\n", err)
	return told.String()
}
