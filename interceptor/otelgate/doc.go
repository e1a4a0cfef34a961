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
// SDK, a gate works as it does without telemetry: it does not even read the clock.
// An SDK that is set later is used from then on.
//
// # Metrics and spans
//
// The names are in names.go. A rejection counts at the gate that made it: a call
// that passed one gate of a chain and was rejected by the next is an accepted call
// of the first.
//
// Exemplars lead from gate.wait.duration to the traces of calls that waited or
// were rejected, from gate.lease.duration to those of calls that held their lease
// for much longer than the mean of their route, and from gate.held_too_long to the
// calls that it counts. The other calls, which are nearly all, cost less for it.
//
// A gate in front of a client may decide while a handler runs. It leaves the
// attributes of the handler's span to the gate in front of the handler. On that
// span it shows by the event of a rejection and by the child span of a wait.
//
// # Gates that come and go
//
// Counts and histograms belong to the meter provider, not to the gate. A gate that
// replaces one of the same name goes on where that one stopped, and what the old
// gate still does is added. Two gates of one name cannot be told apart: all their
// numbers are added up, and a gate that was replaced has numbers until the garbage
// collector has found it.
//
// A provider never forgets a name. The memory for one gate is bounded by
// [WithMaxRoutes] and is freed with the gate. But each name stays in the provider
// with all its series, up to the SDK's limit for an instrument. So take the names
// of gates from a small, fixed set, and not from requests or tenants.
package otelgate
