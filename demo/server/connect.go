package server

import (
	"context"
	"net/http"

	"connectrpc.com/connect"
	"connectrpc.com/grpchealth"

	ordersv1 "github.com/rpcgate/rpcgate/gen/demo/orders/v1"
	"github.com/rpcgate/rpcgate/gen/demo/orders/v1/ordersv1connect"
	reportsv1 "github.com/rpcgate/rpcgate/gen/demo/reports/v1"
	"github.com/rpcgate/rpcgate/gen/demo/reports/v1/reportsv1connect"
)

// newConnectHandler serves the shop and health to Connect, gRPC-Web and REST clients.
func newConnectHandler(s *shop, h grpchealth.Checker, opts ...connect.HandlerOption) *http.ServeMux {
	mux := http.NewServeMux()
	ordersPath, orders := ordersv1connect.NewOrderServiceHandler(&connectOrders{shop: s}, opts...)
	mux.Handle(ordersPath, orders)
	mux.Handle(restPath, newRESTHandler(restPath, orders))
	mux.Handle(reportsv1connect.NewReportServiceHandler(&connectReports{shop: s}, opts...))
	mux.Handle(grpchealth.NewHandler(h, opts...))
	return mux
}

type connectOrders struct{ shop *shop }

func (o *connectOrders) ListOpenOrders(
	ctx context.Context, req *connect.Request[ordersv1.ListOpenOrdersRequest],
) (*connect.Response[ordersv1.ListOpenOrdersResponse], error) {
	res, err := o.shop.listOpenOrders(ctx, req.Msg)
	return connectResponse(ctx, res, err)
}

func (o *connectOrders) CreateOrder(
	ctx context.Context, req *connect.Request[ordersv1.CreateOrderRequest],
) (*connect.Response[ordersv1.CreateOrderResponse], error) {
	res, err := o.shop.createOrder(ctx, req.Msg)
	return connectResponse(ctx, res, err)
}

type connectReports struct{ shop *shop }

func (r *connectReports) MonthlyReport(
	ctx context.Context,
	req *connect.Request[reportsv1.MonthlyReportRequest],
	stream *connect.ServerStream[reportsv1.MonthlyReportResponse],
) error {
	return connectError(ctx, r.shop.monthlyReport(ctx, req.Msg, stream.Send))
}

func connectResponse[T any](ctx context.Context, res *T, err error) (*connect.Response[T], error) {
	if err != nil {
		return nil, connectError(ctx, err)
	}
	return connect.NewResponse(res), nil
}
