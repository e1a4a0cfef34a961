// Package connecthealth lets the health service of Connect v1
// (connectrpc.com/grpchealth) tell whether gates are degraded.
package connecthealth

import (
	"context"

	"connectrpc.com/grpchealth"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/gate/gatehealth"
)

// NewChecker returns a checker that answers for one service by the gates: it is not
// serving while one of them is degraded, as package gatehealth says. For all other
// services it asks next:
//
//	checker := grpchealth.NewStaticChecker(ordersv1connect.OrderServiceName)
//	mux.Handle(grpchealth.NewHandler(connecthealth.NewChecker(checker, "gate", db)))
//
// Choose a name that is no service of the server, and leave "" alone: what a balancer or
// Kubernetes asks for must not depend on load. A server that is taken out, or restarted,
// because it is busy makes the others busier.
//
// The checker is safe for concurrent use if next is. NewChecker panics if next or a gate
// is nil, or if two gates have the same name.
func NewChecker(next grpchealth.Checker, service string, gates ...*gate.Gate) grpchealth.Checker {
	if next == nil {
		panic("connecthealth: NewChecker: want a checker, got nil")
	}
	return &checker{next, service, gatehealth.New(gates...)}
}

type checker struct {
	next    grpchealth.Checker
	service string
	gates   *gatehealth.Health
}

// Check implements [grpchealth.Checker].
func (c *checker) Check(ctx context.Context, req *grpchealth.CheckRequest) (*grpchealth.CheckResponse, error) {
	if req.Service != c.service {
		return c.next.Check(ctx, req)
	}
	status := grpchealth.StatusServing
	if c.gates.Degraded() {
		status = grpchealth.StatusNotServing
	}
	return &grpchealth.CheckResponse{Status: status}, nil
}
