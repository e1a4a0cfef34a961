package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	admitter    Admitter // nil: exempt
	priority    Priority
	setPriority bool
	cost        int64
	stream      StreamMode
}

// StreamMode says when a stream holds its place in the gate.
type StreamMode uint8

// The modes of a stream.
const (
	// HoldStream holds the place from the stream's beginning to its end.
	HoldStream StreamMode = iota
	// HoldOpening holds it until the first response message is sent: for an
	// expensive start with a cheap tail.
	HoldOpening
	// HoldMessage takes a place for each message that is received, until the
	// next one is asked for: an idle stream holds nothing.
	HoldMessage
)

// String returns "hold_stream", "hold_opening" or "hold_message".
func (m StreamMode) String() string {
	switch m {
	case HoldOpening:
		return "hold_opening"
	case HoldMessage:
		return "hold_message"
	default:
		return "hold_stream"
	}
}

// Rule is one line of a policy: see [Route] and [Exempt].
type Rule struct {
	patterns []string
	gates    []*Gate
	exempt   bool
	plan     plan
	err      error
}

// Route sends the calls of a pattern through the given gates, as in [Chain].
//
// A pattern is a whole route ("/orders.v1.OrderService/ListOpen"), the routes of
// a service ("/orders.v1.OrderService/*"), of a package and those below it
// ("/orders.*"), or all ("*"). The most specific pattern wins, wherever it stands.
func Route(pattern string, gates ...*Gate) Rule {
	return Rule{patterns: []string{pattern}, gates: gates}
}

// Exempt lets the calls of the patterns pass without a gate.
func Exempt(patterns ...string) Rule {
	return Rule{patterns: patterns, exempt: true}
}

// Priority gives the calls of the rule a priority, whatever they say
// themselves. By default they keep their own, which is Normal.
func (r Rule) Priority(p Priority) Rule {
	if p < Low || p > Critical {
		r.fail("Priority: want Low, Normal or Critical, got Priority(%d)", p)
	}
	r.plan.priority, r.plan.setPriority = p, true
	return r
}

// Cost gives the calls of the rule a cost in units, above 0, unless they come
// with one of their own. The default is 1.
func (r Rule) Cost(units int64) Rule {
	if units <= 0 {
		r.fail("Cost: want a cost above 0, got %d", units)
	}
	r.plan.cost = units
	return r
}

// Stream sets when the streams of the rule hold their place. The default is
// HoldStream. Unary calls are not affected.
func (r Rule) Stream(m StreamMode) Rule {
	if m > HoldMessage {
		r.fail("Stream: want HoldStream, HoldOpening or HoldMessage, got StreamMode(%d)", m)
	}
	r.plan.stream = m
	return r
}

func (r *Rule) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

// DefaultExempt lists the patterns that are exempt unless a rule says
// otherwise: health checks and reflection. A server must not be restarted for
// being busy.
func DefaultExempt() []string {
	return []string{"/grpc.health.v1.Health/*", "/grpc.reflection.*"}
}

// NewPolicy makes a policy of rules. Routes that no rule matches are exempt, and
// so are health checks and reflection ([DefaultExempt]), unless a rule has the
// same pattern or a more specific one.
//
// It is an error, which names the pattern and the value, if a pattern is
// malformed or given twice, if a Route has no gate, a nil one or the same one
// twice, or if two gates have the same name.
func NewPolicy(rules ...Rule) (*Policy, error) {
	if len(rules) == 0 {
		return nil, errors.New("gate.NewPolicy: no rules")
	}
	p := &Policy{exact: make(map[string]*plan), prefix: make(map[string]*plan)}
	for i, r := range rules {
		if err := p.add(r); err != nil {
			return nil, fmt.Errorf("gate.NewPolicy: rule %d: %w", i+1, err)
		}
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
	if r.err != nil {
		return fmt.Errorf("pattern %q: %w", r.patterns[0], r.err)
	}
	pl := r.plan
	if !r.exempt {
		a, err := newChain(r.gates)
		if err != nil {
			return fmt.Errorf("pattern %q: %w", r.patterns[0], err)
		}
		if err := p.addGates(r.gates); err != nil {
			return fmt.Errorf("pattern %q: %w", r.patterns[0], err)
		}
		pl.admitter = a
	}
	for _, pattern := range r.patterns {
		if err := checkPattern(pattern); err != nil {
			return err
		}
		if err := p.put(pattern, &pl); err != nil {
			return err
		}
	}
	return nil
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
// returns the zero Lease.
func (p *Policy) Acquire(ctx context.Context, call Call) (Lease, error) {
	pl := p.lookup(call.Route)
	if pl == nil || pl.admitter == nil {
		return Lease{}, nil
	}
	if pl.setPriority {
		call.Priority = pl.priority
	}
	if call.Cost <= 0 {
		call.Cost = pl.cost
	}
	return pl.admitter.Acquire(ctx, call)
}

// StreamMode says when a stream of the route holds its place.
func (p *Policy) StreamMode(route string) StreamMode {
	if pl := p.lookup(route); pl != nil {
		return pl.stream
	}
	return HoldStream
}

// Exempts reports whether calls of the route pass without a gate.
func (p *Policy) Exempts(route string) bool {
	pl := p.lookup(route)
	return pl == nil || pl.admitter == nil
}
