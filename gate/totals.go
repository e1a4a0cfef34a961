package gate

// Totals counts decisions. In a dry run these are the ones that would have been
// made.
type Totals struct {
	Accepted        uint64            `json:"accepted"`
	RejectedBusy    uint64            `json:"rejected_busy"`
	RejectedTimeout uint64            `json:"rejected_timeout"`
	Abandoned       uint64            `json:"abandoned"`
	ByReason        map[Reason]uint64 `json:"by_reason"` // rejections; reasons that never came up are left out
	// CutOff counts the accepted calls that were cut off; see [Lease.CutOff].
	CutOff map[Reason]uint64 `json:"cut_off,omitempty"`
}

// totals are the counters behind [Totals], guarded by the gate's lock.
type totals struct {
	unaccepted uint64 // serials that were not given to accepted calls
	abandoned  uint64
	rejected   [reasons]uint64
	cutOff     [reasons]uint64
}

// acceptsLocked is the number of accepted calls: each has a serial of its own, so
// that admission need not count them apart.
func (g *Gate) acceptsLocked() uint64 { return g.serial - g.totals.unaccepted }

func (t *totals) allRejected() (n uint64) {
	for _, r := range t.rejected {
		n += r
	}
	return n
}

// totalsLocked returns the counters for a Snapshot.
func (g *Gate) totalsLocked() Totals {
	out := Totals{Accepted: g.acceptsLocked(), Abandoned: g.totals.abandoned, ByReason: map[Reason]uint64{}}
	for r, n := range g.totals.rejected {
		if n == 0 {
			continue
		}
		out.ByReason[Reason(r)] = n
		if Reason(r).decision() == RejectedTimeout {
			out.RejectedTimeout += n
		} else {
			out.RejectedBusy += n
		}
	}
	for r, n := range g.totals.cutOff {
		if n == 0 {
			continue
		}
		if out.CutOff == nil {
			out.CutOff = map[Reason]uint64{}
		}
		out.CutOff[Reason(r)] = n
	}
	return out
}
