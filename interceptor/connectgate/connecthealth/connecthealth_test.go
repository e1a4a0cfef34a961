package connecthealth_test

import (
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"
	"connectrpc.com/grpchealth"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/gate/gatehealth"
	"github.com/rpcgate/rpcgate/interceptor/connectgate/connecthealth"
)

func TestTheHealthServiceTellsOfTheGates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate.Must(gate.New("db", 1))
		c := connecthealth.NewChecker(grpchealth.NewStaticChecker("orders.v1.OrderService"), "gate", g)
		check := func(service string, want grpchealth.Status) {
			t.Helper()
			res, err := c.Check(t.Context(), &grpchealth.CheckRequest{Service: service})
			if err != nil || res.Status != want {
				t.Errorf("%q: got %v and error %v, want %v", service, res, err, want)
			}
		}
		check("gate", grpchealth.StatusServing)
		lease, _ := g.TryAcquire(gate.Call{})
		_, _ = g.TryAcquire(gate.Call{})
		lease.Release()
		check("gate", grpchealth.StatusNotServing)
		check("", grpchealth.StatusServing) // the server itself
		check("orders.v1.OrderService", grpchealth.StatusServing)
		time.Sleep(gatehealth.Recently + 1)
		check("gate", grpchealth.StatusServing)
		if _, err := c.Check(t.Context(), &grpchealth.CheckRequest{Service: "other"}); connect.CodeOf(err) != connect.CodeNotFound {
			t.Errorf("another service: %v", err)
		}
	})
}

func TestNoCheckerPanics(t *testing.T) {
	defer func() {
		if got := recover(); got != "connecthealth: NewChecker: want a checker, got nil" {
			t.Errorf("got %v", got)
		}
	}()
	connecthealth.NewChecker(nil, "gate")
}
