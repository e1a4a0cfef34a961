// Package gatelog writes the decisions of gates to a [slog.Logger] without
// flooding it: one summary a minute for each gate and route, a sample of single
// calls, and every call for a short while after the first rejection.
//
//	log := gatelog.New(slog.Default())
//	defer log.Close() // writes the last summaries
//	db := gate.Must(gate.New("orders-db", 16, gate.WithOnEvent(log.OnEvent)))
//
// For a gate that already exists, such as one of a [gate.Policy], call
// db.Observe(log).
//
// # The lines
//
// All lines name the gate and the route. The names of the other attributes say
// their unit.
//
//   - "gate summary" is written once an interval for each gate and route that
//     had a call. It counts the accepted, rejected and abandoned calls, and as
//     rejected_<reason> the rejections for each reason that occurred.
//     waited_ms_mean, waited_ms_p95 and waited_ms_max are about the accepted and
//     the rejected calls. peak_in_flight is the most units in flight at the gate
//     when one of these calls was decided, limit is the gate's limit, and
//     interval_s is the time that the line covers. held_too_long,
//     details_dropped and, for each reason, cut_off_<reason> (see
//     [gate.Lease.CutOff]) are there if they are not 0.
//   - "gate decision" has all details of one call, with its request_id. The
//     attribute detail says why the line was written: "sample" or "burst". A
//     call that waited, or was rejected, at a gate that its own context holds has
//     self_wait=true: mostly one gate is used in front of a handler and again
//     inside of it.
//   - "gate lease held too long" reports an event of [gate.WithMaxHold].
//   - "gate log detail changed" and "gate log detail as before" tell of
//     [Logger.SetDetail].
//
// Lines about a dry run have dry_run=true: no client was refused. Lines about an
// enforced rejection or a lease held too long have the level Warn, all others
// have Info; see [WithLevels].
//
// [Logger.SetDetail] writes more, or less, in detail for some time, while something
// burns.
//
// # Privacy
//
// Lines of detail have the address of the caller, as remote_ip: see [WithShortAddresses]
// and [WithoutAddresses]. The key of a call is written as a hash, since it may be a
// credential: see [gate.WithKeySecret] and [WithRawKeys]. Other strings that clients
// choose are cut to 256 bytes, and characters that cannot be printed are replaced.
//
// # Bubbles of testing/synctest
//
// A Logger may be a variable of a package and be used in several bubbles and outside
// of them. It begins anew in a bubble with the first rejected call, or with any call
// if its last one was in another bubble: it writes what it has counted before,
// without interval_s, and from then on its intervals are those of the bubble's clock.
// Calls that are admitted do not make it read the clock. So a test that has only such
// calls should end with [Logger.Flush].
package gatelog
