package server_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/rpcgate/rpcgate/demo/server"
	"github.com/rpcgate/rpcgate/demo/store"
	ordersv1 "github.com/rpcgate/rpcgate/gen/demo/orders/v1"
	"github.com/rpcgate/rpcgate/gen/demo/orders/v1/ordersv1connect"
	reportsv1 "github.com/rpcgate/rpcgate/gen/demo/reports/v1"
	"github.com/rpcgate/rpcgate/gen/demo/reports/v1/reportsv1connect"
)

// lister asks for open orders over one of the protocols.
type lister func(context.Context, *ordersv1.ListOpenOrdersRequest) (*ordersv1.ListOpenOrdersResponse, error)

// listers are the protocols that share the port.
func listers(t *testing.T, addr string) map[string]lister {
	grpcClient := ordersv1.NewOrderServiceClient(dial(t, addr))
	list := map[string]lister{
		"grpc-go": func(ctx context.Context, req *ordersv1.ListOpenOrdersRequest) (*ordersv1.ListOpenOrdersResponse, error) {
			return grpcClient.ListOpenOrders(ctx, req)
		},
	}
	for name, opts := range map[string][]connect.ClientOption{
		"Connect":      nil,
		"Connect GET":  {connect.WithHTTPGet()},
		"Connect JSON": {connect.WithProtoJSON()},
		"gRPC-Web":     {connect.WithGRPCWeb()},
		"gRPC":         {connect.WithGRPC()},
	} {
		client := ordersv1connect.NewOrderServiceClient(h2c(t), "http://"+addr, opts...)
		list[name] = func(ctx context.Context, req *ordersv1.ListOpenOrdersRequest) (*ordersv1.ListOpenOrdersResponse, error) {
			res, err := client.ListOpenOrders(ctx, connect.NewRequest(req))
			if err != nil {
				return nil, err
			}
			return res.Msg, nil
		}
	}
	return list
}

func TestOnePortForAllProtocols(t *testing.T) {
	t.Parallel()
	addr := serve(t, nil, nil)
	for name, list := range listers(t, addr) {
		res, err := list(t.Context(), &ordersv1.ListOpenOrdersRequest{Region: "north coast", Limit: 3})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(res.GetOrders()) != 3 {
			t.Errorf("%s: %d orders, want 3", name, len(res.GetOrders()))
		}
		for _, o := range res.GetOrders() {
			if o.GetRegion() != "north coast" || !strings.HasPrefix(o.GetCustomer(), "customer-") || o.GetItem() == "" ||
				o.GetState() != ordersv1.OrderState_ORDER_STATE_OPEN {
				t.Errorf("%s: order %v", name, o)
			}
		}
		if _, err := list(t.Context(), &ordersv1.ListOpenOrdersRequest{Limit: -1}); codeOf(err) != codes.InvalidArgument {
			t.Errorf("%s: limit -1: error %v, want invalid argument", name, err)
		}
	}
}

func TestHTTP1(t *testing.T) {
	t.Parallel()
	addr := serve(t, nil, nil)
	res, err := http.Post("http://"+addr+ordersv1connect.OrderServiceListOpenOrdersProcedure, "application/json",
		strings.NewReader(`{"limit": 1}`))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK || !bytes.Contains(body, []byte(`"ORDER_STATE_OPEN"`)) {
		t.Errorf("status %s, body %s, error %v", res.Status, body, err)
	}
}

func TestLimitOfTheList(t *testing.T) {
	t.Parallel()
	addr := serve(t, nil, nil)
	client := ordersv1.NewOrderServiceClient(dial(t, addr))
	for limit, want := range map[int32]int{0: 50, 7: 7, 1000: 500} {
		res, err := client.ListOpenOrders(t.Context(), &ordersv1.ListOpenOrdersRequest{Limit: limit})
		if err != nil || len(res.GetOrders()) != want {
			t.Errorf("limit %d: %d orders, error %v; want %d", limit, len(res.GetOrders()), err, want)
		}
	}
}

func TestCreateOrder(t *testing.T) {
	t.Parallel()
	addr := serve(t, nil, nil)
	want := &ordersv1.CreateOrderRequest{Customer: "stranger", Region: "moon", Item: "anvil", AmountCents: 9900}
	grpcClient := ordersv1.NewOrderServiceClient(dial(t, addr))
	connectClient := ordersv1connect.NewOrderServiceClient(h2c(t), "http://"+addr)
	if _, err := grpcClient.CreateOrder(t.Context(), want); err != nil {
		t.Error(err)
	}
	if _, err := connectClient.CreateOrder(t.Context(), connect.NewRequest(want)); err != nil {
		t.Error(err)
	}
	list, err := grpcClient.ListOpenOrders(t.Context(), &ordersv1.ListOpenOrdersRequest{Customer: "stranger"})
	if err != nil || len(list.GetOrders()) != 2 {
		t.Fatalf("%d orders, error %v; want 2", len(list.GetOrders()), err)
	}
	if got := list.GetOrders()[0]; got.GetItem() != want.Item || got.GetRegion() != want.Region || got.GetAmountCents() != want.AmountCents {
		t.Errorf("order %v, want %v", got, want)
	}
	_, err = connectClient.CreateOrder(t.Context(), connect.NewRequest(&ordersv1.CreateOrderRequest{}))
	if codeOf(err) != codes.InvalidArgument {
		t.Errorf("empty order: error %v, want invalid argument", err)
	}
}

func TestMonthlyReport(t *testing.T) {
	t.Parallel()
	addr := serve(t, nil, nil)
	req := &reportsv1.MonthlyReportRequest{Year: store.ReportYear, Month: int32(store.ReportMonth)}
	stream, err := reportsv1.NewReportServiceClient(dial(t, addr)).MonthlyReport(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	days := 0
	for ; err == nil; days++ {
		_, err = stream.Recv()
	}
	if !errors.Is(err, io.EOF) || days-1 != 30 {
		t.Errorf("gRPC: %d days, error %v; want 30", days-1, err)
	}
	client := reportsv1connect.NewReportServiceClient(h2c(t), "http://"+addr)
	rows, err := client.MonthlyReport(t.Context(), connect.NewRequest(req))
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for days = 0; rows.Receive(); days++ {
		if rows.Msg().GetOrders() == 0 {
			t.Errorf("day without orders: %v", rows.Msg())
		}
	}
	if rows.Err() != nil || days != 30 {
		t.Errorf("Connect: %d days, error %v; want 30", days, rows.Err())
	}
}

func serve(t *testing.T, gates *server.Gates, observe server.Observer) (addr string) {
	t.Helper()
	_, addr = start(t, gates, observe)
	return addr
}

// start serves a small shop until the test ends.
func start(t *testing.T, gates *server.Gates, observe server.Observer) (s *server.Server, addr string) {
	t.Helper()
	return startWith(t, gates, observe, nil)
}

func startWith(
	t *testing.T, gates *server.Gates, observe server.Observer, ops *server.Ops,
) (s *server.Server, addr string) {
	t.Helper()
	path, remove, err := store.Copy(seed)
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(path, 4)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s = server.New(st, gates, observe, ops)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		// t.Context has ended by now. A call that is still in flight is a mistake of the test.
		if err := errors.Join(s.Shutdown(context.Background()), <-served, st.Close(), remove()); err != nil {
			t.Error(err)
		}
	})
	return s, l.Addr().String()
}

func dial(t *testing.T, addr string, opts ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	opts = append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()))
	conn, err := grpc.NewClient("passthrough:///"+addr, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// h2c returns a client that speaks HTTP/2 without TLS.
func h2c(t *testing.T) *http.Client {
	t.Helper()
	p := new(http.Protocols)
	p.SetUnencryptedHTTP2(true)
	c := &http.Client{Transport: &http.Transport{Protocols: p}}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func codeOf(err error) codes.Code {
	var c *connect.Error
	if errors.As(err, &c) {
		return codes.Code(c.Code())
	}
	return status.Code(err)
}
