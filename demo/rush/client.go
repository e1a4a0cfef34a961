package rush

import (
	"context"
	"errors"

	"connectrpc.com/connect"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	ordersv1 "github.com/rpcgate/rpcgate/gen/demo/orders/v1"
)

// client is a connection to the server. Several order desks of the shop share it.
type client interface {
	listOpenOrders(context.Context, *ordersv1.ListOpenOrdersRequest) error
	createOrder(context.Context, *ordersv1.CreateOrderRequest) error
	close() error
}

// desksPerConnection is how many desks share a connection, as the clerks of one branch would.
const desksPerConnection = 30

// dialAll opens the connections of all desks. The i-th desk of a kind uses connection i/desksPerConnection of its kind.
func dialAll(address string, c Config) (desks []client, close func() error, err error) {
	var opened []client
	close = func() error {
		var errs []error
		for _, each := range opened {
			errs = append(errs, each.close())
		}
		return errors.Join(errs...)
	}
	for i := range c.Clients {
		grpcKind := i < c.grpcClients()
		nth := i
		if !grpcKind {
			nth -= c.grpcClients()
		}
		if nth%desksPerConnection == 0 {
			var next client = newConnectClient(address, c.retryPolicy())
			if grpcKind {
				next, err = newGRPCClient(address, c.retryPolicy())
			}
			if err != nil {
				return nil, nil, errors.Join(err, close())
			}
			opened = append(opened, next)
		}
		desks = append(desks, opened[len(opened)-1])
	}
	return desks, close, nil
}

// codeOf returns the code of an error of either kind of client. gRPC and Connect use the same numbers for codes.
func codeOf(err error) codes.Code {
	var c *connect.Error
	switch {
	case errors.As(err, &c):
		return codes.Code(c.Code())
	case errors.Is(err, context.DeadlineExceeded):
		return codes.DeadlineExceeded
	default:
		return status.Code(err)
	}
}
