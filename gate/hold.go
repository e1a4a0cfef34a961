package gate

import "time"

// holdWatch looks for leases that are held for longer than [WithMaxHold] allows.
type holdWatch struct {
	timer *time.Timer // runs while it may find one
	set   bool
	era   era // that timer was made in
}

// watchHoldLocked sees to it that a scan for leases held too long runs within the
// given time from now. It does nothing without [WithMaxHold].
func (g *Gate) watchHoldLocked(now moment, within time.Duration) {
	w := &g.holdWatch
	if g.settings.Load().maxHold == 0 || w.set && w.era == now.era {
		return
	}
	if w.era != now.era || now.era == unknownEra {
		*w = holdWatch{era: now.era}
	}
	w.set = true
	if w.timer == nil {
		w.timer = time.AfterFunc(within, g.reportHolders)
	} else {
		w.timer.Reset(within)
	}
}

// reportHolders tells of each lease that has been held for too long, once, and
// comes back when the next one may be.
func (g *Gate) reportHolders() {
	now := g.moment()
	g.mu.Lock()
	defer g.unlock()
	if now.era != g.holdWatch.era {
		return // a timer of another era
	}
	g.holdWatch.set = false
	next := time.Duration(-1)
	for _, s := range g.slots {
		if s.serial == 0 || s.reported || s.since == 0 {
			continue
		}
		held := time.Duration(now.at - s.since)
		if left := g.settings.Load().maxHold - held; left > 0 {
			if next < 0 || left < next {
				next = left
			}
			continue
		}
		s.reported = true
		e := g.numbersLocked().event(g, EventMaxHold, &s.call)
		e.Waited, e.Held = s.waited, held
		g.deferred = append(g.deferred, deferredEvent{s.ctx, e})
	}
	if next >= 0 {
		g.watchHoldLocked(now, next)
	}
}
