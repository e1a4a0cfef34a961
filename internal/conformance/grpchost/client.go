package grpchost

import (
	"context"
	"fmt"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	testv1 "github.com/rpcgate/rpcgate/gen/rpcgate/test/v1"
	"github.com/rpcgate/rpcgate/internal/conformance"
)

const pushbackKey = "grpc-retry-pushback-ms"

// NewClient returns a grpc-go client of the echo service.
func NewClient(conn grpc.ClientConnInterface) conformance.Client { return &client{conn: conn} }

type client struct{ conn grpc.ClientConnInterface }

func (c *client) Open(ctx context.Context, shape conformance.Shape, header map[string]string) conformance.ClientCall {
	for key, value := range header {
		ctx = metadata.AppendToOutgoingContext(ctx, key, value)
	}
	call := &clientCall{shape: shape, client: testv1.NewEchoServiceClient(c.conn), ctx: ctx}
	var err error
	switch shape {
	case conformance.ClientStream:
		call.clientStream, err = call.client.ClientStream(ctx)
	case conformance.BidiStream:
		call.bidi, err = call.client.BidiStream(ctx)
	}
	if err != nil {
		call.err = failure(err, nil, nil)
	}
	return call
}

// Malformed sends a message with invalid UTF-8 in a string of the request.
func (c *client) Malformed(ctx context.Context) error {
	var header, trailer metadata.MD
	err := c.conn.Invoke(ctx, conformance.Unary.Route(), wrapperspb.Bytes([]byte{0xff, 0xfe}), &testv1.UnaryResponse{},
		grpc.Header(&header), grpc.Trailer(&trailer))
	return failure(err, header, trailer)
}

func (c *client) Check(ctx context.Context) error {
	resp, err := grpc_health_v1.NewHealthClient(c.conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	if err == nil && resp.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		err = fmt.Errorf("health status %s", resp.GetStatus())
	}
	return err
}

// clientCall begins a call with a single request in the first Recv, when it knows the
// request.
type clientCall struct {
	shape  conformance.Shape
	client testv1.EchoServiceClient
	ctx    context.Context
	text   string
	done   bool
	err    error

	clientStream grpc.ClientStreamingClient[testv1.ClientStreamRequest, testv1.ClientStreamResponse]
	serverStream grpc.ServerStreamingClient[testv1.ServerStreamResponse]
	bidi         grpc.BidiStreamingClient[testv1.BidiStreamRequest, testv1.BidiStreamResponse]
}

func (c *clientCall) Send(text string) error {
	switch {
	case c.err != nil:
		return io.EOF
	case c.shape == conformance.ClientStream:
		return c.clientStream.Send(&testv1.ClientStreamRequest{Text: text})
	case c.shape == conformance.BidiStream:
		return c.bidi.Send(&testv1.BidiStreamRequest{Text: text})
	default:
		c.text = text
		return nil
	}
}

func (c *clientCall) CloseSend() error {
	if c.err == nil && c.shape == conformance.BidiStream {
		return c.bidi.CloseSend()
	}
	return nil
}

func (c *clientCall) Recv() (string, error) {
	if c.err != nil {
		return "", c.err
	}
	text, err := c.recv()
	if err == io.EOF {
		return "", io.EOF
	}
	if err != nil {
		c.err = err
		return "", err
	}
	return text, nil
}

func (c *clientCall) Delays() (pushback, retryAfter []string) {
	var stream grpc.ClientStream = c.bidi
	if c.shape == conformance.ClientStream {
		stream = c.clientStream
	}
	header, _ := stream.Header() // nil if there is none
	trailer := stream.Trailer()
	return append(header.Get(pushbackKey), trailer.Get(pushbackKey)...),
		append(header.Get("retry-after"), trailer.Get("retry-after")...)
}

func (c *clientCall) recv() (string, error) {
	switch c.shape {
	case conformance.ServerStream:
		if c.serverStream == nil {
			stream, err := c.client.ServerStream(c.ctx, &testv1.ServerStreamRequest{Text: c.text})
			if err != nil {
				return "", failure(err, nil, nil)
			}
			c.serverStream = stream
		}
		return received(c.serverStream, c.serverStream.Recv)
	case conformance.BidiStream:
		return received(c.bidi, c.bidi.Recv)
	}
	if c.done {
		return "", io.EOF
	}
	c.done = true
	if c.shape == conformance.ClientStream {
		return received(c.clientStream, c.clientStream.CloseAndRecv)
	}
	var header, trailer metadata.MD
	resp, err := c.client.Unary(c.ctx, &testv1.UnaryRequest{Text: c.text}, grpc.Header(&header), grpc.Trailer(&trailer))
	return resp.GetText(), failure(err, header, trailer)
}

func received[M texter](stream grpc.ClientStream, recv func() (M, error)) (string, error) {
	m, err := recv()
	if err == nil || err == io.EOF {
		if err == nil {
			return m.GetText(), nil
		}
		return "", err
	}
	header, _ := stream.Header()
	return "", failure(err, header, stream.Trailer())
}

// failure returns what a client sees of an error, or nil if there is none.
func failure(err error, header, trailer metadata.MD) error {
	if err == nil {
		return nil
	}
	s := status.Convert(err)
	f := &conformance.Failure{
		Code: uint32(s.Code()), Message: s.Message(),
		Pushback: trailer.Get(pushbackKey), RetryAfter: header.Get("retry-after"),
		Dump: fmt.Sprintf("%v\nheader %v\ntrailer %v", err, map[string][]string(header), map[string][]string(trailer)),
	}
	for _, detail := range s.Details() {
		if m, ok := detail.(proto.Message); ok {
			f.AddDetail(m)
		}
	}
	return f
}
