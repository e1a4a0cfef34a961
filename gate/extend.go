package gate

import "context"

// This file has what an [Admitter] or an [Observer] may offer beyond its
// interface.

// GateLister is an [Admitter] that knows its gates. Telemetry gives metrics to
// the gates that it lists. [*Gate], [*Policy] and the value of [Chain] are
// GateListers.
type GateLister interface {
	// Gates returns the gates, each once. The slice belongs to the caller.
	Gates() []*Gate
}

// Exempter is an [Admitter] that lets some routes pass without a gate, such as
// [*Policy]. With other Admitters hosts exempt what [ExemptByDefault] does.
type Exempter interface {
	// Exempts reports whether calls of the route pass without a gate.
	Exempts(route string) bool
}

// ProbeExempter is an [Admitter] that lets probes over HTTP pass without a gate, such as
// [*Policy]. With other Admitters hosts of plain HTTP exempt what [IsHTTPProbe] does.
type ProbeExempter interface {
	// ExemptsProbe reports whether GET and HEAD requests of the path pass without
	// a gate.
	ExemptsProbe(path string) bool
}

// StreamModer is an [Admitter] that says when a stream holds its lease, such as
// [*Policy]. With other Admitters all streams have the mode [HoldStream].
type StreamModer interface {
	// StreamMode returns the mode of the streams of a route.
	StreamMode(route string) StreamMode
}

// EarlyRefuser is an [Admitter] that can refuse a call without admitting it. Hosts
// ask it where they must not wait. [*Gate], [*Policy] and the value of [Chain] are
// EarlyRefusers.
type EarlyRefuser interface {
	// RefuseEarly does what [Gate.RefuseEarly] does.
	RefuseEarly(ctx context.Context, call Call) error
}

// Wrapper is an [Admitter] around another one. It keeps what the other one offers:
// hosts look for it in the Wrapper first, then in what it wraps; see [AdmitterAs].
// Its own Acquire always decides.
type Wrapper interface {
	Admitter
	Unwrap() Admitter
}

// AdmitterAs finds out what an Admitter offers beyond Acquire, as in
//
//	exempter, ok := gate.AdmitterAs[gate.Exempter](a)
//
// It returns the first of a and what a wraps that has the interface; see
// [Wrapper]. The interfaces are [GateLister], [Exempter], [ProbeExempter],
// [StreamModer] and [EarlyRefuser].
func AdmitterAs[T any](a Admitter) (offer T, ok bool) {
	for a != nil {
		if offer, ok = a.(T); ok {
			return offer, true
		}
		w, wraps := a.(Wrapper)
		if !wraps {
			break
		}
		a = w.Unwrap()
	}
	return offer, false
}

// UniqueObserver is an [Observer] that a gate should have only once, although
// several values may stand for it; see [Gate.Observe].
type UniqueObserver interface {
	Observer
	// Same reports whether other is the same observer. It runs under the
	// gate's lock, so it must not call the gate, and it changes nothing.
	Same(other Observer) bool
}
