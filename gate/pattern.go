package gate

import (
	"fmt"
	"strings"
)

// checkPattern reports what is wrong with a pattern.
func checkPattern(pattern string) error {
	bad := func(what string) error { return fmt.Errorf("pattern %q: %s", pattern, what) }
	if pattern == "" {
		return bad("is empty")
	}
	if pattern == "*" {
		return nil
	}
	if pattern[0] != '/' {
		return bad("must be * or begin with /")
	}
	for _, r := range pattern {
		switch {
		case r <= ' ' || r == 0x7f:
			return bad("has a space or a control character")
		case strings.ContainsRune(`|\^[]?#`, r):
			return bad(fmt.Sprintf("has a %q, as no route does; a pattern is no regular expression", r))
		}
	}
	switch star := strings.IndexByte(pattern, '*'); {
	case star < 0:
		return nil
	case star != len(pattern)-1:
		return bad("may have * only at its end")
	case pattern[star-1] != '/' && pattern[star-1] != '.':
		return bad("may have * only after / or .")
	}
	return nil
}

// put adds a plan for a pattern that is well-formed.
func (p *Policy) put(pattern string, pl *plan) error {
	plans, key := p.exact, pattern
	if strings.HasSuffix(pattern, "*") {
		plans, key = p.prefix, strings.TrimSuffix(pattern, "*")
		p.maxPrefix = max(p.maxPrefix, len(key))
	}
	if plans[key] != nil {
		return fmt.Errorf("pattern %q is given twice", pattern)
	}
	plans[key] = pl
	return nil
}

// lookup returns the plan of the most specific pattern that matches, or nil. The
// number of rules has no part in what it costs, nor has the length of a route
// that a client made up: prefixes longer than any pattern's are not looked at.
func (p *Policy) lookup(route string) *plan {
	if pl := p.exact[route]; pl != nil {
		return pl
	}
	rest := route
	if len(rest) > p.maxPrefix {
		rest = rest[:p.maxPrefix]
	}
	for {
		i := strings.LastIndexAny(rest, "/.")
		if i < 0 {
			return p.prefix[""]
		}
		if pl := p.prefix[rest[:i+1]]; pl != nil {
			return pl
		}
		rest = rest[:i]
	}
}
