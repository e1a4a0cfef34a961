// Package gatedebug shows what gates are doing, to people and to probes.
//
//	mux.Handle("/debug/gate/", gatedebug.Handler(db, reports))
//	mux.Handle("/healthz", gatedebug.Health(db, reports))
//
// The page answers which gate is the bottleneck, since when, and who holds its
// slots. It is live over server-sent events and needs nothing but the handler.
// The same is there as JSON, at state.json below the page or for clients that
// accept application/json.
//
// The handler does not ask who is there: mount it where only operators get, and
// outside of any gate, so that it answers when the gates do not. It shows
// routes, request ids, addresses and keys of calls.
//
// # What it costs
//
// Each gate of a [Handler] reads the clock for every call, for the ages of its
// holders; calls that were rejected or had to wait are noted: the last ones, and
// counts for each minute of the last hour. One sampler serves all viewers and
// runs only while there are any; calls that are admitted at once are counted by
// route only at gates that somebody has open. Memory is bounded.
package gatedebug
