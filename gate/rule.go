package gate

import (
	"errors"
	"fmt"
)

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
	r.failIfExempt("Priority")
	if p < Low || p > Critical {
		r.fail("Priority: want Low, Normal or Critical, got Priority(%d)", p)
	}
	r.plan.priority, r.plan.setPriority = p, true
	return r
}

// Cost gives the calls of the rule a cost in units, above 0, unless they come
// with one of their own. The default is 1.
func (r Rule) Cost(units int64) Rule {
	r.failIfExempt("Cost")
	if units <= 0 {
		r.fail("Cost: want a cost above 0, got %d", units)
	}
	r.plan.cost = units
	return r
}

// Stream sets when the streams of the rule hold their lease. The default is
// HoldStream. Unary calls are not affected.
func (r Rule) Stream(m StreamMode) Rule {
	r.failIfExempt("Stream")
	if m > HoldMessage {
		r.fail("Stream: want HoldStream, HoldOpening or HoldMessage, got StreamMode(%d)", m)
	}
	r.plan.stream = m
	return r
}

func (r *Rule) failIfExempt(method string) {
	if r.exempt {
		r.fail("%s: exempt calls pass no gate and have none", method)
	}
}

func (r *Rule) fail(format string, args ...any) {
	r.err = errors.Join(r.err, fmt.Errorf(format, args...))
}

// StreamMode says when a stream holds its lease.
type StreamMode uint8

// The modes of a stream.
const (
	// HoldStream holds the lease from the stream's beginning to its end.
	HoldStream StreamMode = iota
	// HoldOpening holds it until the first response message is sent: for an
	// expensive start with a cheap tail. A message that cannot be sent counts,
	// too. Headers alone do not. The handler must be done with what the gate
	// protects by then: if it sends the rows of a query while it reads them, the
	// query still holds its connection, for as long as the client reads.
	HoldOpening
	// HoldMessage acquires a lease for each message that is received, and holds
	// it until the next one is asked for: an idle stream holds nothing.
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
