package gate

import (
	"cmp"
	"context"
	"encoding/binary"
)

// callID stands for the request id of an admitted call that came without one. An
// observer that writes the call down asks for it. Most calls end without one.
type callID uint64

// callID returns the number of the call that the lease with the given serial is for.
func (g *Gate) callID(serial uint64) callID { return callID(g.rank.age<<40 ^ serial) }

// String returns the request id, "" for 0. It cannot be guessed.
func (id callID) String() string {
	if id == 0 {
		return ""
	}
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(id))
	return hasherOfProcess().hash("request id of call " + string(b[:]))
}

// Identified returns the call with its request id and the address of its caller, like
// [Call.Resolved]. It is for an observer that writes down the decision about a call. An
// admitted call whose client has sent no request id gets one then. From there on it is
// the same in the call's other events, in [Holder], in the call's span, and for gates in
// its handler.
func (e Event) Identified(ctx context.Context) Call {
	if e.slot != nil {
		e.slot.identify(e.serial)
		e.Call.id = e.id
	}
	return e.Call.Resolved(ctx)
}

// identify notes that an observer has written down the call that has the lease with the
// given serial.
func (s *slot) identify(serial uint64) {
	g := s.gate
	g.identifies.Store(true)
	g.mu.Lock()
	defer g.mu.Unlock()
	if s.serial == serial {
		s.noted, s.isIdentified = true, true
	}
}

// known returns the call of a slot, with an id if an observer has written it down. At
// the later gates of a chain the id is that of the first one.
func (s *slot) known() Call {
	call := s.call
	if s.isIdentified {
		call.id = cmp.Or(call.id, s.gate.callID(s.serial))
	} else {
		call.id = 0
	}
	return call
}

// IdentifiedAs returns the request id of the lease's call if an observer has written the
// call down; see [Event.Identified]. Otherwise, and once the lease is released, it is
// empty. ctx is the context with which the call was acquired. It is for authors of
// hosts.
func (l Lease) IdentifiedAs(ctx context.Context) string {
	if call, ok := l.identified(); ok {
		return call.Resolved(ctx).RequestID
	}
	return ""
}

// identified returns the call of the lease if an observer has written it down, at any
// gate of a chain.
func (l Lease) identified() (call Call, ok bool) {
	for l.slot != nil {
		s := l.slot
		if s.gate.identifies.Load() {
			s.gate.mu.Lock()
			call, ok = s.known(), s.serial == l.serial && s.isIdentified
			s.gate.mu.Unlock()
			if ok {
				return call, true
			}
		}
		if l.outcome.gate() == 0 {
			break // not through a chain: there is no other gate, and no lock to take
		}
		l, _ = s.heldWithin(l.serial)
	}
	return Call{}, false
}
