// Package gatelog writes what gates decide to a [slog.Logger] without flooding
// it: one line a minute for each gate and route, a sample of single calls, and
// every call for a short while after the first rejection.
//
//	log := gatelog.New(slog.Default())
//	defer log.Close() // writes what is left
//	db := gate.Must(gate.New("orders-db", 16, gate.WithOnEvent(log.OnEvent)))
//
// A gate that exists already, for instance one of a [gate.Policy], is added by
// db.Observe(log).
//
// # The lines
//
// All lines name the gate and the route. Times are in milliseconds.
//
//   - "gate summary" comes once an interval for each gate and route that had a
//     call: accepted, rejected, rejected_<reason> for each reason that came up,
//     abandoned; waited_ms_mean, waited_ms_p95 and waited_ms_max of the accepted
//     and the rejected calls; peak_in_flight, of the gate, as these calls saw
//     it; limit; interval_s, the time that the line covers. There is no line
//     when nothing happened.
//   - "gate decision" is the full detail of one call, with its request_id. The
//     attribute detail says why it is there: "sample" or "burst".
//   - "gate lease held too long" repeats an event of [gate.WithMaxHold].
//
// Lines of a dry run have dry_run=true: nobody was refused. A calm line has the
// level Info; one that tells of an enforced rejection, or of a lease held too
// long, has Warn.
//
// Strings that clients choose are cut to 256 bytes, and characters that cannot
// be printed are replaced.
package gatelog
