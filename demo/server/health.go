package server

import (
	"context"
	"sync/atomic"

	"connectrpc.com/grpchealth"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/gen/demo/orders/v1/ordersv1connect"
	"github.com/rpcgate/rpcgate/gen/demo/reports/v1/reportsv1connect"
	"github.com/rpcgate/rpcgate/interceptor/connectgate/connecthealth"
)

// HealthOfGates is the service name under which the health services report on the gates: SERVING unless one of them is
// degraded. The server itself stays SERVING: it must not be restarted because it is busy.
const HealthOfGates = "gate"

// connectHealth is the health of the services and the gates for clients of Connect.
type connectHealth struct {
	grpchealth.Checker
	notReady atomic.Bool
}

func newConnectHealth(gates []*gate.Gate) *connectHealth {
	services := grpchealth.NewStaticChecker(ordersv1connect.OrderServiceName, reportsv1connect.ReportServiceName)
	return &connectHealth{Checker: connecthealth.NewChecker(services, HealthOfGates, gates...)}
}

// shutdown makes all services not serving.
func (h *connectHealth) shutdown() { h.notReady.Store(true) }

func (h *connectHealth) Check(ctx context.Context, req *grpchealth.CheckRequest) (*grpchealth.CheckResponse, error) {
	if h.notReady.Load() {
		return &grpchealth.CheckResponse{Status: grpchealth.StatusNotServing}, nil
	}
	return h.Checker.Check(ctx, req)
}
