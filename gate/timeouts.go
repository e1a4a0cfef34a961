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
	// A chain has one wait for all its gates, the longest of theirs.
	var name string
	var wait time.Duration
	for _, g := range has.Gates() {
		if maxWait := g.set().maxWait; maxWait > wait {
			name, wait = g.name, maxWait
		}
	}
	if handler < proxy-wait { // no sum that could overflow
		return nil
	}
	if wait == 0 {
		return fmt.Errorf("gate.CheckTimeouts: handlers may take %s: want less than the proxy's timeout of %s", handler, proxy)
	}
	return fmt.Errorf("gate.CheckTimeouts: a call may wait %s at the gate %q and its handler may take %s: "+
		"want less in all than the proxy's timeout of %s", wait, name, handler, proxy)
}
