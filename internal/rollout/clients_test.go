package rollout

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"

	testv1 "github.com/rpcgate/rpcgate/gen/rpcgate/test/v1"
	"github.com/rpcgate/rpcgate/gen/rpcgate/test/v1/testv1connect"
)

const (
	waitForReady = `{"loadBalancingConfig": [{"round_robin": {}}], "methodConfig": [{"name": [{}], "waitForReady": true}]}`
	andRetry     = `{"loadBalancingConfig": [{"round_robin": {}}], "methodConfig": [{"name": [{}], "waitForReady": true,
		"retryPolicy": {"maxAttempts": 4, "initialBackoff": "0.01s", "maxBackoff": "0.05s", "backoffMultiplier": 2,
			"retryableStatusCodes": ["UNAVAILABLE"]}}]}`
)

// grpcClient takes the replicas in turn, without the balancer, and waits if it can connect to none of them.
func grpcClient(c *cluster, retries bool) func(context.Context, time.Duration) error {
	replicas := manual.NewBuilderWithScheme("cluster")
	var state resolver.State
	for _, r := range c.replicas {
		state.Addresses = append(state.Addresses, resolver.Address{Addr: r.addr})
	}
	replicas.InitialState(state)
	config := waitForReady
	if retries {
		config = andRetry
	}
	conn, err := grpc.NewClient("cluster:///echo", grpc.WithResolvers(replicas),
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(c.dial),
		grpc.WithDefaultServiceConfig(config))
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = conn.Close() })
	echo := testv1.NewEchoServiceClient(conn)
	return func(ctx context.Context, long time.Duration) error {
		_, err := echo.Unary(ctx, &testv1.UnaryRequest{Text: long.String()})
		return err
	}
}

// connectClient returns clients of one version of HTTP.
func connectClient(version func(*http.Protocols, bool)) func(*cluster, bool) func(context.Context, time.Duration) error {
	return func(c *cluster, retries bool) func(context.Context, time.Duration) error {
		var protocols http.Protocols
		version(&protocols, true)
		transport := &http.Transport{
			Protocols: &protocols, MaxIdleConnsPerHost: 100,
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return c.connect(ctx) },
		}
		c.t.Cleanup(transport.CloseIdleConnections)
		echo := testv1connect.NewEchoServiceClient(&http.Client{Transport: transport}, "http://cluster")
		once := func(ctx context.Context, long time.Duration) error {
			_, err := echo.Unary(ctx, connect.NewRequest(&testv1.UnaryRequest{Text: long.String()}))
			return err
		}
		if !retries {
			return once
		}
		return func(ctx context.Context, long time.Duration) error {
			for {
				err := once(ctx, long)
				after, ok := notExecuted(err)
				if !ok {
					return err
				}
				select {
				case <-time.After(after):
				case <-ctx.Done():
					return err
				}
			}
		}
	}
}

// notExecuted reports whether it is certain that a call was not executed, and when to retry it: the server says so, or
// there was no connection.
func notExecuted(err error) (retryAfter time.Duration, ok bool) {
	var refused *connect.Error
	if errors.As(err, &refused) {
		for _, d := range refused.Details() {
			if m, err := d.Value(); err == nil {
				if info, ok := m.(*errdetails.RetryInfo); ok {
					return info.GetRetryDelay().AsDuration(), true
				}
			}
		}
	}
	var network *net.OpError
	return 50 * time.Millisecond, errors.As(err, &network) && network.Op == "dial"
}
