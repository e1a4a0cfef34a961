package gate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// chain is several gates in front of one call.
type chain struct {
	gates  []*Gate // in the order in which they are taken
	budget time.Duration
}

// Chain puts several gates in front of a call, which then needs a slot in each.
//
// Narrow gates are taken first, so that who waits for a narrow one holds nothing
// wide: the order is that of the limits at the time of the call to Chain, then
// of the names, whatever the order of the arguments, so that no two chains can
// wait for each other. One wait covers all: a call waits at each gate for at
// most that gate's [WithMaxWait], at all of them together for at most the
// longest of these and for at most the share of its deadline. A refusal gives
// back what was taken, in reverse, and so does the one Lease.
//
// Chain panics if there is no gate, a nil one, or the same one twice: these are
// mistakes of the program. [NewPolicy] reports them as errors.
func Chain(gates ...*Gate) Admitter {
	a, err := newChain(gates)
	if err != nil {
		panic(fmt.Sprintf("gate.Chain: %v", err))
	}
	return a
}

func newChain(gates []*Gate) (Admitter, error) {
	if len(gates) == 0 {
		return nil, fmt.Errorf("no gates")
	}
	for i, g := range gates {
		if g == nil {
			return nil, fmt.Errorf("gate %d of %d is nil", i+1, len(gates))
		}
		if slices.Contains(gates[:i], g) {
			return nil, fmt.Errorf("gate %q is given twice", g.name)
		}
	}
	if len(gates) == 1 {
		return gates[0], nil
	}
	c := &chain{gates: slices.Clone(gates)}
	slices.SortStableFunc(c.gates, func(a, b *Gate) int {
		return cmp.Or(cmp.Compare(a.Limit(), b.Limit()), cmp.Compare(a.name, b.name))
	})
	for _, g := range c.gates {
		c.budget = max(c.budget, g.config.maxWait)
	}
	return c, nil
}

// Gates returns the gates in the order in which they are taken.
func (c *chain) Gates() []*Gate { return slices.Clone(c.gates) }

func (c *chain) Acquire(ctx context.Context, call Call) (Lease, error) {
	var taken Lease
	complete := false
	// Deferred, so that no refusal, panic or Goexit at a gate keeps the ones
	// before it from getting their units back.
	defer func() {
		if !complete {
			taken.Release()
		}
	}()
	var spent, longest time.Duration
	for i, g := range c.gates {
		next, err := g.acquire(ctx, &call, wait{
			budget: min(g.config.maxWait, c.budget-spent),
			spent:  spent,
		})
		if err != nil {
			return Lease{}, err
		}
		next.slot.outer = taken
		spent += next.waited
		if i > 0 {
			next = next.judgedBy(taken, next.waited > longest)
		}
		longest = max(longest, spent-taken.waited)
		next.waited = spent
		taken = next
	}
	complete = true
	return taken, nil
}

// judgedBy keeps what an earlier lease of the chain says about the gate that
// decided, unless this one's gate kept the call waiting longer. A gate in a dry
// run that would have refused the call has decided.
func (l Lease) judgedBy(earlier Lease, waitedLonger bool) Lease {
	switch {
	case earlier.Decision().Rejected():
	case l.Decision().Rejected() || waitedLonger:
		return l
	}
	l.gate, l.inFlight, l.outcome = earlier.gate, earlier.inFlight, earlier.outcome
	return l
}
