package gate

import "context"

// CutOff tells the gate that the host ends the lease's call early because of its client:
// the reason is [ReasonSlowRequest] or [ReasonSlowResponse]. The gate counts it, and the
// event of the release has the reason. The lease is not released: the handler runs until
// it notices.
//
// Only the first call for a lease does something, and none after Release. With another
// reason it does nothing. A lease on several gates is cut off at all of them. It reports
// whether the lease was cut off by this call.
func (l Lease) CutOff(r Reason) bool {
	if !r.cutsOff() {
		return false
	}
	first := false
	for l.slot != nil {
		outer, held := l.slot.heldWithin(l.serial)
		if held && l.slot.cutOff(l.serial, r) {
			first = true
		}
		l = outer
	}
	return first
}

func (s *slot) cutOff(serial uint64, r Reason) bool {
	g := s.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if s.serial != serial || s.cut != 0 {
		return false
	}
	s.noted, s.cut = true, r
	g.totals.cutOff[r]++
	return true
}

// cutsOff reports whether calls are cut off for the reason.
func (r Reason) cutsOff() bool { return r == ReasonSlowRequest || r == ReasonSlowResponse }

// WaitListener is a [Caller] that does something while its call waits. OnWait is called
// when the call has taken its turn in the queue, before it waits for it; never for a
// call that is admitted or rejected at once. At the later gates of a chain it may be
// called again. It must return soon: the call may have been admitted already. It is for
// authors of hosts.
type WaitListener interface {
	Caller
	OnWait(ctx context.Context)
}

// tellWait tells the host that the arrival waits.
func (a *arrival) tellWait(caller Caller) {
	if l, ok := caller.(WaitListener); ok {
		l.OnWait(a.ctx)
	}
}
