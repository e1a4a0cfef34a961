package gate

import (
	"errors"
	"fmt"
	"time"
)

// CheckTimeouts is for the start of a program that runs behind a proxy. It reports
// an error if the proxy would give up before the server does: if the longest wait
// at the gates of a, plus the time that handlers may take, is not less than the
// proxy's timeout. Clients would read the proxy's 504 then, instead of an answer
// or of a refusal that says when to come back, and the server would work in vain.
// The program decides whether it starts all the same; a warning in the log is
// enough.
//
// It is also an error if handlers may take for ever (handler is 0 or less), if
// proxy is not above 0, or if a is no [GateLister].
func CheckTimeouts(a Admitter, handler, proxy time.Duration) error {
	has, ok := AdmitterAs[GateLister](a)
	switch {
	case !ok:
		return fmt.Errorf("gate.CheckTimeouts: a %T does not say which gates it has", a)
	case proxy <= 0:
		return fmt.Errorf("gate.CheckTimeouts: proxy: want a timeout above 0, got %s", proxy)
	case handler <= 0:
		return errors.New("gate.CheckTimeouts: handlers have no deadline, so the proxy is the first to give up")
	}
	wait, where := longestWait(a, has)
	if handler < proxy-wait { // no sum that could overflow
		return nil
	}
	if wait == 0 {
		return fmt.Errorf("gate.CheckTimeouts: handlers may take %s: want less than the proxy's timeout of %s", handler, proxy)
	}
	return fmt.Errorf("gate.CheckTimeouts: a call may wait %s %s and its handler may take %s: "+
		"want less in all than the proxy's timeout of %s", wait, where, handler, proxy)
}

// longestWait returns the longest wait of a call at a, and where that is. A chain has
// one wait for all its gates, the longest of theirs.
func longestWait(a Admitter, has GateLister) (longest time.Duration, where string) {
	if p, ok := AdmitterAs[*Policy](a); ok {
		return p.longestWait()
	}
	for _, g := range has.Gates() {
		if wait := g.set().maxWait; wait > longest {
			longest, where = wait, fmt.Sprintf("at the gate %q", g.name)
		}
	}
	return longest, where
}

// longestWait returns the longest wait of all rules.
func (p *Policy) longestWait() (longest time.Duration, where string) {
	for star, plans := range map[string]map[string]*plan{"": p.exact, "*": p.prefix} {
		for key, pl := range plans {
			wait, gate := pl.longestWait()
			at := fmt.Sprintf("at the gate %q, by the rule for %q", gate, key+star)
			if wait > longest || wait == longest && at < where { // the same text every time
				longest, where = wait, at
			}
		}
	}
	return longest, where
}

// longestWait returns the longest wait of the plan's calls, and the gate where that is.
func (pl *plan) longestWait() (longest time.Duration, gate string) {
	if pl.exempts() {
		return 0, ""
	}
	for _, g := range pl.gates() {
		if wait := pl.terms.longestWait(g.set()); wait > longest {
			longest, gate = wait, g.name
		}
	}
	return longest, gate
}
