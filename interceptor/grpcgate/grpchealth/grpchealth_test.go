package grpchealth_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/gate/gatehealth"
	"github.com/rpcgate/rpcgate/interceptor/grpcgate/grpchealth"
)

func TestTheHealthServiceTellsOfTheGates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, srv := gate.Must(gate.New("db", 1)), health.NewServer()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go grpchealth.Report(ctx, srv, "gate", g)
		check := func(service string, want healthv1.HealthCheckResponse_ServingStatus) {
			t.Helper()
			synctest.Wait()
			res, err := srv.Check(t.Context(), &healthv1.HealthCheckRequest{Service: service})
			if err != nil || res.Status != want {
				t.Errorf("%q: got %v and error %v, want %v", service, res.GetStatus(), err, want)
			}
		}
		check("gate", healthv1.HealthCheckResponse_SERVING)
		lease, _ := g.TryAcquire(gate.Call{})
		_, _ = g.TryAcquire(gate.Call{})
		lease.Release()
		time.Sleep(grpchealth.Interval)
		check("gate", healthv1.HealthCheckResponse_NOT_SERVING)
		check("", healthv1.HealthCheckResponse_SERVING) // the server itself
		time.Sleep(gatehealth.Recently + grpchealth.Interval)
		check("gate", healthv1.HealthCheckResponse_SERVING)
	})
}
