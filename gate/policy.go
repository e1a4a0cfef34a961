package gate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Policy maps routes to gates. It is an [Admitter], never changes, and is safe
// for concurrent use.
type Policy struct {
	exact     map[string]*plan // by route
	prefix    map[string]*plan // by prefix, which ends in '/' or '.', or is empty
	maxPrefix int
	gates     []*Gate
}

// plan is what a policy does with the calls of a pattern.
type plan struct {
	gate        *Gate  // the one gate,
	chain       *chain // or several; without either the calls are exempt
	priority    Priority
	setPriority bool
	cost        int64
	stream      StreamMode
	terms       *terms // nil: as the gates say
}

func (pl *plan) exempts() bool { return pl == nil || pl.gate == nil && pl.chain == nil }

// apply gives the call what the rule says of it.
func (pl *plan) apply(call *Call) {
	if pl.setPriority {
		call.Priority = pl.priority
	}
	if call.Cost <= 0 {
		call.Cost = pl.cost
	}
}

// DefaultExempt lists the patterns that are exempt unless a rule says
// otherwise: health checks and reflection. A server must not be restarted for
// being busy. Watchers of gRPC health keep a stream open for as long as they are
// connected. A rule with a gate of its own bounds how many there are, while single
// checks stay exempt:
//
//	gate.Route("/grpc.health.v1.Health/Watch", watchers).Refusal(gate.Unimplemented)
func DefaultExempt() []string { return []string{exemptHealth + "*", exemptReflection + "*"} }

const (
	exemptHealth     = "/grpc.health.v1.Health/"
	exemptReflection = "/grpc.reflection."
)

// ExemptByDefault reports whether a pattern of [DefaultExempt] matches the route.
// It is for authors of hosts, for an [Admitter] that is no [Exempter].
func ExemptByDefault(route string) bool {
	return strings.HasPrefix(route, exemptHealth) || strings.HasPrefix(route, exemptReflection)
}

// NewPolicy makes a policy of rules. Routes that no rule matches are exempt, and
// so are health checks and reflection ([DefaultExempt]), unless a rule has the
// same pattern or a more specific one. Over plain HTTP, so are [HTTPProbes], unless a
// rule has the same pattern.
//
// It is an error, which names the pattern and the value, if a pattern is
// malformed or given twice, if a Route has no gate, a nil one or the same one
// twice, or if two gates have the same name.
func NewPolicy(rules ...Rule) (*Policy, error) {
	if len(rules) == 0 {
		return nil, errors.New("gate.NewPolicy: no rules")
	}
	p := &Policy{exact: make(map[string]*plan), prefix: make(map[string]*plan)}
	var errs []error
	for i, r := range rules {
		if err := p.add(r); err != nil {
			errs = append(errs, fmt.Errorf("gate.NewPolicy: rule %d: %w", i+1, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for _, pattern := range DefaultExempt() {
		_ = p.put(pattern, &plan{}) // a rule with this pattern stays
	}
	return p, nil
}

func (p *Policy) add(r Rule) error {
	if len(r.patterns) == 0 {
		return errors.New("Exempt: no patterns")
	}
	errs := []error{r.err}
	pl := r.plan
	if !r.exempt {
		c, err := newChain(r.gates)
		if err == nil {
			err = p.addGates(r.gates)
		}
		switch {
		case err != nil:
			errs = append(errs, err)
		case len(c.gates) == 1:
			pl.gate = c.gates[0]
		default:
			c.terms = pl.terms
			pl.chain = c
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("pattern %q: %w", r.patterns[0], err)
	}
	errs = errs[:0]
	for _, pattern := range r.patterns {
		err := checkPattern(pattern)
		if err == nil {
			err = p.put(pattern, &pl)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (p *Policy) addGates(gates []*Gate) error {
	for _, g := range gates {
		if slices.Contains(p.gates, g) {
			continue
		}
		for _, other := range p.gates {
			if other.name == g.name {
				return fmt.Errorf("two gates have the name %q", g.name)
			}
		}
		p.gates = append(p.gates, g)
	}
	return nil
}

// Gates returns the gates that the policy sends calls through, each once.
func (p *Policy) Gates() []*Gate { return slices.Clone(p.gates) }

// Acquire sends the call through the gates of its route. For an exempt route it
// returns the zero Lease. A call without a Route is the call that ctx belongs to, as
// for [Gate.Acquire].
func (p *Policy) Acquire(ctx context.Context, call Call) (Lease, error) {
	call.inherit(ctx)
	pl := p.lookup(call.Route)
	if pl.exempts() {
		return Lease{}, nil
	}
	pl.apply(&call)
	return pl.acquire(ctx, &call)
}

func (pl *plan) acquire(ctx context.Context, call *Call) (Lease, error) {
	if pl.gate != nil {
		return pl.gate.acquire(ctx, call, pl.wait())
	}
	return pl.chain.acquire(ctx, call)
}

// wait is what a call of the plan may wait at its one gate.
func (pl *plan) wait() wait { return wait{most: math.MaxInt64, terms: pl.terms} }

// gates are the gates of the plan in the order in which they are taken.
func (pl *plan) gates() []*Gate {
	if pl.chain != nil {
		return pl.chain.gates
	}
	return []*Gate{pl.gate}
}

// StreamMode returns when a stream of the route holds its lease.
func (p *Policy) StreamMode(route string) StreamMode {
	if pl := p.lookup(route); pl != nil {
		return pl.stream
	}
	return HoldStream
}

// Exempts reports whether calls of the route pass without a gate.
func (p *Policy) Exempts(route string) bool { return p.lookup(route).exempts() }
