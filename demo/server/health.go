package server

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"connectrpc.com/grpchealth"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/rpcgate/rpcgate/gen/demo/orders/v1/ordersv1connect"
	"github.com/rpcgate/rpcgate/gen/demo/reports/v1/reportsv1connect"
)

// HealthOfGates is the service name under which the health services report on the gates: SERVING unless one of them is
// degraded. The server itself stays SERVING: it must not be restarted because it is busy.
const HealthOfGates = "gate"

// healthEvery is how often the answer about the gates is updated.
const healthEvery = 500 * time.Millisecond

// grpcHealth keeps the gRPC health service up to date until ctx ends.
func grpcHealth(ctx context.Context, service *health.Server, gates http.Handler) {
	tick := time.NewTicker(healthEvery)
	defer tick.Stop()
	for {
		now := healthv1.HealthCheckResponse_SERVING
		if degraded(gates) {
			now = healthv1.HealthCheckResponse_NOT_SERVING
		}
		service.SetServingStatus(HealthOfGates, now)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// connectHealth does the same for Connect. It looks at the gates on each request.
type connectHealth struct {
	services grpchealth.Checker
	gates    http.Handler
	notReady atomic.Bool
}

func newConnectHealth(gates http.Handler) *connectHealth {
	return &connectHealth{gates: gates, services: grpchealth.NewStaticChecker(
		ordersv1connect.OrderServiceName, reportsv1connect.ReportServiceName)}
}

// shutdown makes all services not serving.
func (h *connectHealth) shutdown() { h.notReady.Store(true) }

func (h *connectHealth) Check(ctx context.Context, req *grpchealth.CheckRequest) (*grpchealth.CheckResponse, error) {
	if h.notReady.Load() {
		return &grpchealth.CheckResponse{Status: grpchealth.StatusNotServing}, nil
	}
	if req.Service != HealthOfGates {
		return h.services.Check(ctx, req)
	}
	if degraded(h.gates) {
		return &grpchealth.CheckResponse{Status: grpchealth.StatusNotServing}, nil
	}
	return &grpchealth.CheckResponse{Status: grpchealth.StatusServing}, nil
}
