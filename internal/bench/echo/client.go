package echo

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	testv1 "github.com/rpcgate/rpcgate/gen/rpcgate/test/v1"
	"github.com/rpcgate/rpcgate/gen/rpcgate/test/v1/testv1connect"
)

// Client calls a server over one connection. It neither retries nor compresses.
type Client struct {
	call  func(context.Context) error
	close func()
}

// NewClient makes a client that sends so many bytes with each call.
func NewClient(p Protocol, addr string, size int) (*Client, error) {
	payload := make([]byte, size)
	for i := range payload {
		payload[i] = byte(i)
	}
	if p == Connect {
		return newConnectClient(addr, payload), nil
	}
	conn, err := grpc.NewClient("passthrough:///"+addr,
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDisableRetry())
	if err != nil {
		return nil, err
	}
	client := testv1.NewEchoServiceClient(conn)
	return &Client{
		call: func(ctx context.Context) error {
			_, err := client.Unary(ctx, &testv1.UnaryRequest{Payload: payload})
			return err
		},
		close: func() { _ = conn.Close() },
	}, nil
}

func newConnectClient(addr string, payload []byte) *Client {
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: &protocols}
	client := testv1connect.NewEchoServiceClient(&http.Client{Transport: transport}, "http://"+addr,
		connect.WithAcceptCompression("gzip", nil, nil))
	return &Client{
		call: func(ctx context.Context) error {
			_, err := client.Unary(ctx, connect.NewRequest(&testv1.UnaryRequest{Payload: payload}))
			return err
		},
		close: transport.CloseIdleConnections,
	}
}

// Close closes the connection.
func (c *Client) Close() { c.close() }

// Call makes a call.
func (c *Client) Call(ctx context.Context) error { return c.call(ctx) }

// Expect makes a call and checks that it is answered, or refused in some way: not all limiters say that they refuse.
func (c *Client) Expect(ctx context.Context, refused bool) error {
	err := c.call(ctx)
	code := status.Code(err)
	if known := new(connect.Error); errors.As(err, &known) {
		code = codes.Code(known.Code())
	}
	switch {
	case !refused && err != nil:
		return fmt.Errorf("not answered: %w", err)
	case refused && code != codes.ResourceExhausted && code != codes.Unknown:
		return fmt.Errorf("not refused: %v", err)
	}
	return nil
}
