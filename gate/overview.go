package gate

// Overview is a [Gate.Snapshot] without the holders: a few numbers, cheap to
// take however many calls are in flight. It does not make admissions read the
// clock.
func (g *Gate) Overview() Snapshot {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.overviewLocked()
}

// overviewLocked is what can be said of the gate without its holders.
func (g *Gate) overviewLocked() Snapshot {
	s := Snapshot{
		Name: g.name, Limit: g.limit, InFlight: g.inFlight + g.passing,
		Waiting: g.queue.total, MaxWaiting: g.maxWaitingLocked(), MaxWait: g.set().maxWait,
		Draining: g.draining, DryRun: g.dryRun,
		Totals: g.totalsLocked(), Keys: len(g.keys),
		ObserverPanics: g.observerPanics.Load(),
	}
	for l, n := range g.queue.length {
		if n > 0 {
			if s.WaitingBy == nil {
				s.WaitingBy = make(map[Priority]int, levels)
			}
			s.WaitingBy[Priority(l-1)] = n
		}
	}
	return s
}
