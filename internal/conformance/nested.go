package conformance

import (
	"context"
	"errors"

	"github.com/rpcgate/rpcgate/gate"
)

func nestedCases() []Case {
	return []Case{{Name: "HandlersCallToAnotherRoutePassesItsGate", Run: nestedRoute}}
}

// nestedRoute has a handler dispatch to other routes in process, as a batch does: what a host further in does then is
// [gate.Enter]. It finds in the handler's context what the host of the client's call holds.
func nestedRoute(e *Env) {
	const report, free = "/rpcgate.test.v1.ReportService/Get", "/rpcgate.test.v1.FreeService/Get"
	front := e.gate()
	reports, err := gate.New("reports", 1, gate.WithMaxWait(0))
	if err != nil {
		e.Fatal(err)
	}
	p, err := gate.NewPolicy(gate.Route(e.Shape.Route(), front), gate.Route(report, reports, front), gate.Exempt(free))
	if err != nil {
		e.Fatal(err)
	}
	enter := func(ctx context.Context, route string) (gate.Lease, error) {
		return gate.Enter(ctx, p, &gate.Call{Route: route})
	}
	c := e.start(p, func(ctx context.Context, shape Shape, s Stream) error {
		for _, route := range []string{e.Shape.Route(), free} {
			if lease, err := enter(ctx, route); err != nil || lease != (gate.Lease{}) {
				e.Errorf("%s: got lease %v and error %v, want it to pass", route, lease != gate.Lease{}, err)
			}
		}
		part, err := enter(ctx, report)
		if err != nil || part == (gate.Lease{}) {
			e.Errorf("a part of the call: got lease %v and error %v, want a lease", part != gate.Lease{}, err)
		}
		if _, err := enter(ctx, report); !errors.Is(err, gate.ErrBusy) {
			e.Errorf("a second part: %v, want the gate of its route to be full", err)
		}
		if n := front.InFlight(); n != 1 { // the parts have what the call has
			e.Errorf("%d in flight at the gate of the call, want 1", n)
		}
		part.Release()
		return Echo(ctx, shape, s)
	})
	e.mustCall(e.Context(), c)
	e.inFlight(reports, 0)
}
