package rush

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/stats"

	"github.com/rpcgate/rpcgate/demo/store"
	ordersv1 "github.com/rpcgate/rpcgate/gen/demo/orders/v1"
	reportsv1 "github.com/rpcgate/rpcgate/gen/demo/reports/v1"
)

// grpcClient is a plain grpc-go client. grpc-go itself waits as long as the server says, and gives up when the server
// forbids to retry.
type grpcClient struct {
	conn    *grpc.ClientConn
	orders  ordersv1.OrderServiceClient
	reports reportsv1.ReportServiceClient
}

func newGRPCClient(address string, p retryPolicy) (*grpcClient, error) {
	conn, err := grpc.NewClient("passthrough:///"+address,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultServiceConfig(p.serviceConfig()),
		grpc.WithStatsHandler(attemptCounter{}))
	if err != nil {
		return nil, err
	}
	return &grpcClient{
		conn:    conn,
		orders:  ordersv1.NewOrderServiceClient(conn),
		reports: reportsv1.NewReportServiceClient(conn),
	}, nil
}

func (c *grpcClient) listOpenOrders(ctx context.Context, req *ordersv1.ListOpenOrdersRequest) error {
	_, err := c.orders.ListOpenOrders(ctx, req)
	return err
}

func (c *grpcClient) createOrder(ctx context.Context, req *ordersv1.CreateOrderRequest) error {
	_, err := c.orders.CreateOrder(ctx, req)
	return err
}

// monthlyReport reads a whole report and throws it away.
func (c *grpcClient) monthlyReport(ctx context.Context) error {
	stream, err := c.reports.MonthlyReport(ctx, &reportsv1.MonthlyReportRequest{
		Year:  store.ReportYear,
		Month: int32(store.ReportMonth),
	})
	for err == nil {
		_, err = stream.Recv()
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func (c *grpcClient) close() error { return c.conn.Close() }

// attemptCounter is a stats handler that records the attempts of a call.
type attemptCounter struct{}

func (attemptCounter) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

func (attemptCounter) HandleRPC(ctx context.Context, s stats.RPCStats) {
	switch s.(type) {
	case *stats.Begin:
		attemptsOf(ctx).begin()
	case *stats.End:
		attemptsOf(ctx).end()
	}
}

func (attemptCounter) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

func (attemptCounter) HandleConn(context.Context, stats.ConnStats) {}
