// Package gatedebug shows what gates are doing, to people and to health checks.
//
//	mux.Handle("/debug/gate/", gatedebug.Handler([]*gate.Gate{db, reports}))
//	mux.Handle("/healthz", gatedebug.Health(db, reports))
//
// The page of [Handler] shows which gate is the bottleneck, since when, and who
// holds its leases. It is updated live by server-sent events and loads nothing
// from other servers. The same data is available as JSON: at state.json below the
// page, and at the page's own address for clients that accept application/json.
//
// The handler does not authenticate anybody, and it shows routes, request ids,
// addresses of calls, and hashes of their keys. Mount it where only operators can
// reach it, and outside of any gate: then it answers when the gates do not. Other
// sites cannot read it through an operator's browser, but for one with DNS rebinding,
// unless the server checks the Host header. Commands are safe from that; see
// [WithControl].
//
// # What it costs
//
// A gate with a page reads the clock for every call, to know the ages of its
// leases. The page keeps the last rejections, and for each minute of the last hour
// the numbers of calls that were rejected, abandoned or had to wait. One sampler
// serves all viewers. It runs while there are any, and while a gate rejects calls or
// lets them wait for long: whoever opens the page in the middle of an incident sees how
// it began. It needs no goroutine, only a timer. Calls that are admitted at once are
// counted by route, but only at a gate that a viewer has open. The memory is bounded.
//
// # Bubbles of testing/synctest
//
// The handlers may be variables of a package and be used in several bubbles and
// outside of them, in one after the other. What was seen in another one is forgotten.
// The page can be open in one at a time: while it is, another one gets 503 instead of
// the live events.
package gatedebug
