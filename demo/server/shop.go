package server

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/rpcgate/rpcgate/demo/store"
	ordersv1 "github.com/rpcgate/rpcgate/gen/demo/orders/v1"
	"github.com/rpcgate/rpcgate/gen/demo/orders/v1/ordersv1connect"
	reportsv1 "github.com/rpcgate/rpcgate/gen/demo/reports/v1"
	"github.com/rpcgate/rpcgate/gen/demo/reports/v1/reportsv1connect"
)

// HandlerTimeout is how long an admitted call may take. A proxy in front has to wait for longer: see demo/nginx.
const HandlerTimeout = 30 * time.Second

const (
	defaultLimit = 50
	maxLimit     = 500
)

// Observer is called for every admitted call of the two services, when its handler begins. The function that it returns
// is called when the handler has ended.
type Observer func(service string) (leave func())

// shop implements both services. Each host wraps it in its own kind of handler: see grpc.go and connect.go.
type shop struct {
	store   *store.Store
	observe Observer
	now     func() time.Time
}

func (s *shop) listOpenOrders(
	ctx context.Context, req *ordersv1.ListOpenOrdersRequest,
) (_ *ordersv1.ListOpenOrdersResponse, err error) {
	defer s.observe(ordersv1connect.OrderServiceName)()
	ctx, end := within(ctx, &err)
	defer end()
	filter := store.Filter{Customer: req.GetCustomer(), Region: req.GetRegion(), Limit: int(req.GetLimit())}
	switch {
	case filter.Limit < 0:
		return nil, fmt.Errorf("%w: limit must not be negative, got %d", store.ErrInvalid, filter.Limit)
	case filter.Limit == 0:
		filter.Limit = defaultLimit
	}
	filter.Limit = min(filter.Limit, maxLimit)

	// Three queries, one for each table, as gorm's Preload or ent's With would send them. In a quiet shop the two
	// small ones cost almost nothing. But each query needs a connection from the pool and waits for it. At eight
	// o'clock the second query of a call waits behind the first queries of hundreds of calls that will never be
	// answered in time.
	orders, err := s.store.OpenOrders(ctx, filter)
	if err != nil {
		return nil, err
	}
	customers, err := s.store.Customers(ctx, idsOf(orders, func(o store.Order) int64 { return o.CustomerID }))
	if err != nil {
		return nil, err
	}
	items, err := s.store.Items(ctx, idsOf(orders, func(o store.Order) int64 { return o.ItemID }))
	if err != nil {
		return nil, err
	}
	res := &ordersv1.ListOpenOrdersResponse{Orders: make([]*ordersv1.Order, len(orders))}
	for i, o := range orders {
		c := customers[o.CustomerID]
		res.Orders[i] = orderMessage(o, c.Name, c.Region, items[o.ItemID].Name)
	}
	return res, nil
}

func (s *shop) createOrder(
	ctx context.Context, req *ordersv1.CreateOrderRequest,
) (_ *ordersv1.CreateOrderResponse, err error) {
	defer s.observe(ordersv1connect.OrderServiceName)()
	ctx, end := within(ctx, &err)
	defer end()
	order, err := s.store.Create(ctx, store.NewOrder{
		Customer:    req.GetCustomer(),
		Region:      req.GetRegion(),
		Item:        req.GetItem(),
		AmountCents: req.GetAmountCents(),
	}, s.now())
	if err != nil {
		return nil, err
	}
	return &ordersv1.CreateOrderResponse{
		Order: orderMessage(order, req.GetCustomer(), req.GetRegion(), req.GetItem()),
	}, nil
}

func (s *shop) monthlyReport(
	ctx context.Context, req *reportsv1.MonthlyReportRequest, send func(*reportsv1.MonthlyReportResponse) error,
) (err error) {
	defer s.observe(reportsv1connect.ReportServiceName)()
	ctx, end := within(ctx, &err)
	defer end()
	month := time.Month(req.GetMonth())
	days, err := s.store.MonthlyReport(ctx, int(req.GetYear()), month)
	if err != nil {
		return err
	}
	for _, d := range days {
		err := send(&reportsv1.MonthlyReportResponse{
			Day:          int32(d.Day),
			Orders:       d.Orders,
			RevenueCents: d.RevenueCents,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// within bounds the time of a handler. If the time is over, end replaces the handler's error, which may be any error of
// an interrupted query, by the error of the context.
func within(ctx context.Context, err *error) (bounded context.Context, end func()) {
	bounded, cancel := context.WithTimeout(ctx, HandlerTimeout)
	return bounded, func() {
		if *err != nil && bounded.Err() != nil {
			*err = bounded.Err()
		}
		cancel()
	}
}

func orderMessage(o store.Order, customer, region, item string) *ordersv1.Order {
	return &ordersv1.Order{
		Id:          o.ID,
		Customer:    customer,
		Region:      region,
		Item:        item,
		AmountCents: o.AmountCents,
		State:       ordersv1.OrderState(o.State), // the store uses the numbers of the enum
		CreatedAt:   timestamppb.New(o.CreatedAt),
	}
}

// idsOf returns the distinct identifiers in the orders.
func idsOf(orders []store.Order, id func(store.Order) int64) []int64 {
	seen := make(map[int64]bool, len(orders))
	ids := make([]int64, 0, len(orders))
	for _, o := range orders {
		if i := id(o); !seen[i] {
			seen[i] = true
			ids = append(ids, i)
		}
	}
	return ids
}
