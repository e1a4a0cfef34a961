// Package gate bounds how many calls are in flight in front of something
// expensive: a connection pool, a CPU-heavy report, a downstream service.
//
// A [Gate] admits calls up to a limit, lets a bounded number of further calls
// wait for a short time, and rejects the rest at once:
//
//	db, err := gate.New("orders-db", 16) // 16 in flight, 100 ms wait, 16 waiting
//	if err != nil {
//		return err
//	}
//	lease, err := db.Acquire(ctx, gate.Call{Route: "/orders.v1.OrderService/ListOpen"})
//	if err != nil {
//		return err // a *gate.Rejection, or the context's error
//	}
//	defer lease.Release()
//
// With [Gate.Do] the release cannot be forgotten.
//
// [Chain] puts several gates in front of one call and [NewPolicy] maps routes
// to gates. All of them are an [Admitter], the interface that the interceptors
// for grpc-go, Connect and net/http take.
//
// # Words
//
//   - A unit is what a gate counts. A call takes one, unless its cost says
//     otherwise. The limit is the number of units that may be in flight.
//   - A lease is what an admitted call holds until it is released: the right to
//     its units.
//   - A rejection is the decision of a gate not to admit a call. A refusal is its
//     form on the wire: a status, an answer of HTTP.
//   - A route is the name of a procedure. A host is what takes calls from a
//     transport to a gate: an interceptor, a middleware.
//
// # For authors of hosts
//
// A host asks an [Admitter] and passes the lease on to the handler. Users of the
// hosts need none of the following.
//
//   - [AdmitterAs] finds what an Admitter offers beyond Acquire: [GateLister],
//     [Exempter], [ProbeExempter], [StreamModer], [EarlyRefuser], also behind a
//     [Wrapper]. [ExemptByDefault] stands in where an Admitter is no Exempter,
//     [IsHTTPProbe] where it is no ProbeExempter.
//   - [Enter] acquires what a host further out does not hold already, and
//     [AcquireCall] acquires in any case; both without a copy of the Call. [Covers]
//     says whether a call would pass.
//   - [NewContext] and [NewMessagesContext] make the handler's context.
//   - [Caller] finds the caller of a call when somebody asks for it, and
//     [Call.Resolved] asks.
//   - [Gate.RefuseEarly] rejects where a host must not wait.
//   - [Call.Size] is [SizeUnknown] where a host does not know it: a size of 0 costs
//     next to nothing.
//   - [Gate.UsesKeys] says whether a [Call.Key] has an effect.
//
// The package depends on the standard library only.
package gate
