// Package gate bounds how many calls are in flight in front of something
// expensive: a connection pool, a CPU-heavy report, a downstream service.
//
// A [Gate] admits calls up to a limit, lets a bounded number of further calls
// wait for a short time, and refuses the rest at once:
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
// [Gate.Do] is the form in which the release cannot be forgotten.
//
// [Chain] puts several gates in front of one call and [NewPolicy] maps routes
// to gates. All of them are an [Admitter], the interface that the interceptors
// for grpc-go, Connect and net/http take.
//
// The package depends on the standard library only.
package gate
