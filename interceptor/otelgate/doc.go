// Package otelgate shows gates in OpenTelemetry: metrics of every gate, and on
// the span of each call what the gate decided and how long the call waited.
//
// The interceptors of this module do this by themselves, with the global
// providers, so most programs need nothing from here. For gates that are used
// without an interceptor:
//
//	db := gate.Must(gate.New("orders-db", 16))
//	if err := otelgate.Instrument(db); err != nil {
//		return err
//	}
//
// Authors of interceptors make a [Recorder] and call [Recorder.Annotate] after
// each Acquire.
//
// The package uses the OpenTelemetry API only. As long as the program sets no
// SDK, a gate stays as it is without telemetry: it does not even read the clock.
// An SDK that is set later is used from then on.
//
// Exemplars lead from gate.lease.duration to the traces of any calls, and from
// gate.requests and gate.wait.duration to those that waited or were rejected.
//
// A gate in front of a client that is used in a handler leaves the attributes of
// the handler's span to the gate in front of that: it shows there by the event of a
// rejection and by the span of a wait.
//
// The names are in names.go. Rejections count where they were made: a call that
// passed one gate of a chain and was refused by the next is an accepted call of
// the first. Two gates of one name in one process cannot be told apart: their
// counts are added up.
package otelgate
