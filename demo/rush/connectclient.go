package rush

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"

	ordersv1 "github.com/rpcgate/rpcgate/gen/demo/orders/v1"
	"github.com/rpcgate/rpcgate/gen/demo/orders/v1/ordersv1connect"
)

// connectClient is a connect-go client on HTTP/2. It adds retries, which connect-go leaves to its users.
type connectClient struct {
	http   *http.Client
	orders ordersv1connect.OrderServiceClient
}

func newConnectClient(address string, p retryPolicy) *connectClient {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	c := &http.Client{Transport: &http.Transport{Protocols: protocols}}
	return &connectClient{
		http: c,
		orders: ordersv1connect.NewOrderServiceClient(c, "http://"+address,
			connect.WithInterceptors(retryingInterceptor(p))),
	}
}

func (c *connectClient) listOpenOrders(ctx context.Context, req *ordersv1.ListOpenOrdersRequest) error {
	_, err := c.orders.ListOpenOrders(ctx, connect.NewRequest(req))
	return err
}

func (c *connectClient) createOrder(ctx context.Context, req *ordersv1.CreateOrderRequest) error {
	_, err := c.orders.CreateOrder(ctx, connect.NewRequest(req))
	return err
}

func (c *connectClient) close() error {
	c.http.CloseIdleConnections()
	return nil
}

// retryingInterceptor retries refused unary calls by the policy. It waits as long as the server says, or backs off if
// the server does not say. If the wait would end after the deadline, it returns the refusal at once.
func retryingInterceptor(p retryPolicy) connect.UnaryInterceptorFunc {
	return func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
			for attempt := 1; ; attempt++ {
				attemptsOf(ctx).begin()
				res, err := next(ctx, req)
				attemptsOf(ctx).end()
				if err == nil || attempt == p.maxAttempts || !p.retryable(codeOf(err)) {
					return res, err
				}
				delay, told := toldDelay(err)
				if !told {
					delay = p.backoff(attempt)
				}
				if !pause(ctx, delay) {
					return res, err
				}
			}
		}
	}
}

// toldDelay returns the retry delay that the server sent. The details of the error have it exactly, the header
// Retry-After in whole seconds.
func toldDelay(err error) (delay time.Duration, told bool) {
	var c *connect.Error
	if !errors.As(err, &c) {
		return 0, false
	}
	for _, detail := range c.Details() {
		message, err := detail.Value()
		if err != nil {
			continue
		}
		if info, ok := message.(*errdetails.RetryInfo); ok {
			return info.GetRetryDelay().AsDuration(), true
		}
	}
	seconds, err := strconv.Atoi(c.Meta().Get("Retry-After"))
	return time.Duration(seconds) * time.Second, err == nil && seconds >= 0
}

// pause waits for d and reports true. It reports false if ctx ends before that, at once if its deadline says so.
func pause(ctx context.Context, d time.Duration) bool {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= d {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
