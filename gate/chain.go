package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// chain is several gates in front of one call.
type chain struct {
	gates []*Gate // in the order in which they are taken

	// beside is the rank of the widest gate that the call holds already, not
	// through this chain. Nothing narrower is waited for; see [Enter].
	beside rank

	terms *terms // of the route's rule, or nil
}

// Chain puts several gates in front of a call, which then needs a unit of each.
//
// Narrow gates are taken first, so that a call that waits for a narrow one holds
// nothing wide. The order is the order of the limits that the gates were made with,
// then of their age, whatever the order of the arguments. It never changes, also
// when a limit does: so no two chains can wait for each other. One wait covers all:
// a call waits at each gate for at most that gate's [WithMaxWait], at all of them
// together for at most the longest of these and for at most the share of its
// deadline. [Rule.MaxWait] replaces the gates' waits. A rejection gives back what was
// taken, in reverse, and so does the one Lease.
//
// Chain panics if there is no gate, a nil one, or the same one twice: these are
// mistakes of the program. [NewPolicy] reports them as errors.
func Chain(gates ...*Gate) Admitter {
	c, err := newChain(gates)
	if err != nil {
		panic(fmt.Sprintf("gate.Chain: %v", err))
	}
	if len(c.gates) == 1 {
		return c.gates[0]
	}
	return c
}

// newChain returns the chain of the gates. One gate is a chain, too.
func newChain(gates []*Gate) (*chain, error) {
	if len(gates) == 0 {
		return nil, errors.New("no gates")
	}
	if len(gates) > maxChain {
		return nil, fmt.Errorf("want at most %d gates, got %d", maxChain, len(gates))
	}
	for i, g := range gates {
		if g == nil {
			return nil, fmt.Errorf("gate %d of %d is nil", i+1, len(gates))
		}
		if slices.Contains(gates[:i], g) {
			return nil, fmt.Errorf("gate %q is given twice", g.name)
		}
	}
	c := &chain{gates: slices.Clone(gates)}
	slices.SortFunc(c.gates, func(a, b *Gate) int { return a.rank.compare(b.rank) })
	return c, nil
}

// Gates returns the gates in the order in which they are taken.
func (c *chain) Gates() []*Gate { return slices.Clone(c.gates) }

// Acquire admits the call at all gates or at none.
func (c *chain) Acquire(ctx context.Context, call Call) (Lease, error) {
	return c.acquire(ctx, &call)
}

func (c *chain) acquire(ctx context.Context, call *Call) (Lease, error) {
	var taken Lease
	complete := false
	// Deferred, so that no rejection, panic or Goexit at a gate keeps the ones
	// before it from getting their units back.
	defer func() {
		if !complete {
			taken.Release()
		}
	}()
	budget := c.budget()
	var spent, longest time.Duration
	for i, g := range c.gates {
		w := wait{most: budget - spent, spent: spent, terms: c.terms}
		if g.rank.compare(c.beside) < 0 {
			w.most = 0
		}
		next, err := g.acquire(ctx, call, w)
		if err != nil {
			return Lease{}, err
		}
		if i == 0 {
			call.id = g.callID(next.serial)
		} else {
			next.slot.outer, next.slot.booked = taken, true
		}
		waited := next.Waited()
		next.outcome = next.outcome.withGate(i + 1)
		if i > 0 {
			next = next.judgedBy(taken, waited > longest)
		}
		longest = max(longest, waited)
		spent += waited
		next.outcome = next.outcome.withWaited(spent)
		taken = next
	}
	taken.slot.chain = c
	complete = true
	return taken, nil
}

// budget is how long a call may wait at all gates together: the longest wait of one
// of them.
func (c *chain) budget() (longest time.Duration) {
	for _, g := range c.gates {
		longest = max(longest, c.terms.longestWait(g.set()))
	}
	return longest
}

// judgedBy keeps what an earlier lease of the chain says about the gate that
// decided, unless this one's gate kept the call waiting longer. A gate in a dry
// run that would have rejected the call has decided.
func (l Lease) judgedBy(earlier Lease, waitedLonger bool) Lease {
	switch {
	case earlier.Decision().Rejected():
	case l.Decision().Rejected() || waitedLonger:
		return l
	}
	l.inFlight, l.outcome = earlier.inFlight, earlier.outcome
	return l
}
