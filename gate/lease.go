package gate

import "time"

// Lease is the right of a call to its units at a gate. It must be released when
// the work of the call is done, and not before, even if the caller has gone.
//
// A Lease is a small value that may be copied; all copies are the same lease.
// The zero Lease holds nothing, and its Release does nothing; exempt calls get it.
// Its methods are safe for concurrent use.
type Lease struct {
	slot     *slot
	serial   uint64 // of this use of the slot
	inFlight int64
	outcome  outcome
}

// Release gives the units back. Only the first call does something, whichever
// goroutine it comes from.
func (l Lease) Release() {
	if l.slot != nil {
		l.slot.release(l.serial)
	}
}

// Waited returns how long the call waited to be admitted, at all its gates
// together. It tells up to three days.
func (l Lease) Waited() time.Duration { return l.outcome.waited() }

// InFlight returns the number of units in use right after the call was admitted,
// this call included.
func (l Lease) InFlight() int64 { return l.inFlight }

// Gate returns the gate that admitted the call; of several the one that kept it
// waiting longest, or the narrowest if none did. It is nil for the zero Lease. Of
// several gates only a lease that is still held knows which it was: afterwards
// Gate returns the widest.
func (l Lease) Gate() *Gate {
	if l.slot == nil {
		return nil
	}
	if i := l.outcome.gate(); i != 0 {
		return l.slot.gateOfChain(l.serial, i-1)
	}
	return l.slot.gate
}

// Decision returns Accepted, unless the gate is in a dry run: then it is what the
// gate would have decided, as far as it was known when the call passed. It is 0
// for the zero Lease.
func (l Lease) Decision() Decision { return l.outcome.decision() }

// Reason refines the Decision of a dry run.
func (l Lease) Reason() Reason { return l.outcome.reason() }

// DryRun reports whether the gate was in a dry run.
func (l Lease) DryRun() bool { return l.outcome&outcomeDryRun != 0 }

// gates calls f with each gate that the lease is held on, from the one that was
// acquired last, until f returns false. A lease that was released holds none.
func (l Lease) gates(f func(*Gate) bool) {
	for l.slot != nil {
		s := l.slot
		outer, held := s.heldWithin(l.serial)
		if !held || !f(s.gate) {
			return
		}
		l = outer
	}
}

// heldWithin returns the lease on the gate in front, if the lease with the given serial
// is still held.
func (s *slot) heldWithin(serial uint64) (outer Lease, held bool) {
	s.gate.mu.Lock()
	defer s.gate.mu.Unlock()
	if s.serial != serial {
		return Lease{}, false
	}
	return s.outer, true
}

// gateOfChain returns a gate of the chain that the lease with the given serial was
// acquired through.
func (s *slot) gateOfChain(serial uint64, i int) *Gate {
	s.gate.mu.Lock()
	defer s.gate.mu.Unlock()
	if s.serial != serial {
		return s.gate
	}
	return s.chain.gates[i]
}
