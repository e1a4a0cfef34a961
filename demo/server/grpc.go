package server

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"

	ordersv1 "github.com/rpcgate/rpcgate/gen/demo/orders/v1"
	reportsv1 "github.com/rpcgate/rpcgate/gen/demo/reports/v1"
)

// newGRPCServer serves the shop, health and reflection to gRPC clients.
func newGRPCServer(s *shop, h *health.Server, opts ...grpc.ServerOption) *grpc.Server {
	g := grpc.NewServer(opts...)
	ordersv1.RegisterOrderServiceServer(g, &grpcOrders{shop: s})
	reportsv1.RegisterReportServiceServer(g, &grpcReports{shop: s})
	healthv1.RegisterHealthServer(g, h)
	reflection.Register(g)
	return g
}

type grpcOrders struct {
	ordersv1.UnimplementedOrderServiceServer
	shop *shop
}

func (o *grpcOrders) ListOpenOrders(
	ctx context.Context, req *ordersv1.ListOpenOrdersRequest,
) (*ordersv1.ListOpenOrdersResponse, error) {
	res, err := o.shop.listOpenOrders(ctx, req)
	return res, grpcError(ctx, err)
}

func (o *grpcOrders) CreateOrder(
	ctx context.Context, req *ordersv1.CreateOrderRequest,
) (*ordersv1.CreateOrderResponse, error) {
	res, err := o.shop.createOrder(ctx, req)
	return res, grpcError(ctx, err)
}

type grpcReports struct {
	reportsv1.UnimplementedReportServiceServer
	shop *shop
}

func (r *grpcReports) MonthlyReport(
	req *reportsv1.MonthlyReportRequest, stream grpc.ServerStreamingServer[reportsv1.MonthlyReportResponse],
) error {
	ctx := stream.Context()
	return grpcError(ctx, r.shop.monthlyReport(ctx, req, stream.Send))
}
