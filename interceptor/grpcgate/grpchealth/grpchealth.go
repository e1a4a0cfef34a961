// Package grpchealth lets the health service of grpc-go tell whether gates are degraded.
package grpchealth

import (
	"context"
	"time"

	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/gate/gatehealth"
)

// Interval is how often [Report] looks at the gates.
const Interval = time.Second / 2

// Report keeps the status of a service up to date in srv until ctx ends: it is
// NOT_SERVING while one of the gates is degraded, as package gatehealth says, and
// SERVING otherwise. Run it on a goroutine of its own:
//
//	go grpchealth.Report(ctx, healthServer, "gate", db, reports)
//
// Choose a name that is no service of the server, and leave "" alone: what a balancer or
// Kubernetes asks for must not depend on load. A server that is taken out, or restarted,
// because it is busy makes the others busier.
//
// Report panics if a gate is nil or two gates have the same name.
func Report(ctx context.Context, srv *health.Server, service string, gates ...*gate.Gate) {
	gatehealth.New(gates...).Watch(ctx, Interval, func(degraded bool) {
		status := healthv1.HealthCheckResponse_SERVING
		if degraded {
			status = healthv1.HealthCheckResponse_NOT_SERVING
		}
		srv.SetServingStatus(service, status)
	})
}
