package connecthost

import (
	"context"
	"errors"
	"io"

	"connectrpc.com/connect"
	connectv2 "connectrpc.com/connect/v2"
	"google.golang.org/grpc/health/grpc_health_v1"

	testv1connectv2 "github.com/rpcgate/rpcgate/gen/connectv2/rpcgate/test/v1/testv1connect"
	testv1 "github.com/rpcgate/rpcgate/gen/rpcgate/test/v1"
	"github.com/rpcgate/rpcgate/internal/conformance"
)

// serviceV1 is the echo service in Connect v1, with a conformance.Handler behind
// it.
type serviceV1 struct{ handler conformance.Handler }

func (s serviceV1) Unary(
	ctx context.Context, req *connect.Request[testv1.UnaryRequest],
) (*connect.Response[testv1.UnaryResponse], error) {
	res := &testv1.UnaryResponse{}
	err := s.handler(ctx, conformance.Unary, &stream{
		recv: once(req.Msg.GetText()),
		send: func(text string) error { res.Text = text; return nil },
	})
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(res), nil
}

func (s serviceV1) ClientStream(
	ctx context.Context, cs *connect.ClientStream[testv1.ClientStreamRequest],
) (*connect.Response[testv1.ClientStreamResponse], error) {
	res := &testv1.ClientStreamResponse{}
	err := s.handler(ctx, conformance.ClientStream, &stream{
		recv: func() (string, error) {
			if cs.Receive() {
				return cs.Msg().GetText(), nil
			}
			if err := cs.Err(); err != nil {
				return "", err
			}
			return "", io.EOF
		},
		send: func(text string) error { res.Text = text; return nil },
	})
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(res), nil
}

func (s serviceV1) ServerStream(
	ctx context.Context, req *connect.Request[testv1.ServerStreamRequest],
	ss *connect.ServerStream[testv1.ServerStreamResponse],
) error {
	return s.handler(ctx, conformance.ServerStream, &stream{
		recv: once(req.Msg.GetText()),
		send: func(text string) error { return ss.Send(&testv1.ServerStreamResponse{Text: text}) },
	})
}

func (s serviceV1) BidiStream(
	ctx context.Context, bs *connect.BidiStream[testv1.BidiStreamRequest, testv1.BidiStreamResponse],
) error {
	return s.handler(ctx, conformance.BidiStream, &stream{
		recv: receive(bs.Receive),
		send: func(text string) error { return bs.Send(&testv1.BidiStreamResponse{Text: text}) },
	})
}

// serviceV2 is the same in Connect v2.
type serviceV2 struct{ handler conformance.Handler }

func (s serviceV2) Unary(ctx context.Context, req *testv1.UnaryRequest) (*testv1.UnaryResponse, error) {
	res := &testv1.UnaryResponse{}
	return res, s.handler(ctx, conformance.Unary, &stream{
		recv: once(req.GetText()),
		send: func(text string) error { res.Text = text; return nil },
	})
}

func (s serviceV2) ClientStream(
	ctx context.Context, cs testv1connectv2.EchoServiceClientStreamServerStream,
) (*testv1.ClientStreamResponse, error) {
	res := &testv1.ClientStreamResponse{}
	return res, s.handler(ctx, conformance.ClientStream, &stream{
		recv: receive(cs.Receive),
		send: func(text string) error { res.Text = text; return nil },
	})
}

func (s serviceV2) ServerStream(
	ctx context.Context, req *testv1.ServerStreamRequest, ss testv1connectv2.EchoServiceServerStreamServerStream,
) error {
	return s.handler(ctx, conformance.ServerStream, &stream{
		recv: once(req.GetText()),
		send: func(text string) error { return ss.Send(&testv1.ServerStreamResponse{Text: text}) },
	})
}

func (s serviceV2) BidiStream(ctx context.Context, bs testv1connectv2.EchoServiceBidiStreamServerStream) error {
	return s.handler(ctx, conformance.BidiStream, &stream{
		recv: receive(bs.Receive),
		send: func(text string) error { return bs.Send(&testv1.BidiStreamResponse{Text: text}) },
	})
}

// healthV2 is the health check in Connect v2, for which there is no package.
func healthV2() connectv2.Method {
	return connectv2.Method{
		Spec: connectv2.Spec{Procedure: "/grpc.health.v1.Health/Check"},
		Handler: func(_ context.Context, _ connectv2.Spec, s connectv2.ServerStream) error {
			if err := s.Receive(&grpc_health_v1.HealthCheckRequest{}); err != nil {
				return err
			}
			return s.Send(&grpc_health_v1.HealthCheckResponse{Status: grpc_health_v1.HealthCheckResponse_SERVING})
		},
	}
}

// stream is a call of any shape as the handler sees it.
type stream struct {
	recv func() (string, error)
	send func(text string) error
}

func (s *stream) Recv() (string, error)  { return s.recv() }
func (s *stream) Send(text string) error { return s.send(text) }

// once receives the one text there is.
func once(text string) func() (string, error) {
	received := false
	return func() (string, error) {
		if received {
			return "", io.EOF
		}
		received = true
		return text, nil
	}
}

// receive receives messages that have a text. Connect wraps io.EOF.
func receive[M interface{ GetText() string }](recv func() (M, error)) func() (string, error) {
	return func() (string, error) {
		m, err := recv()
		if errors.Is(err, io.EOF) {
			return "", io.EOF
		}
		if err != nil {
			return "", err
		}
		return m.GetText(), nil
	}
}
