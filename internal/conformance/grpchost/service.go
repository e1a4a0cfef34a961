package grpchost

import (
	"context"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	testv1 "github.com/rpcgate/rpcgate/gen/rpcgate/test/v1"
	"github.com/rpcgate/rpcgate/internal/conformance"
)

// Service is the echo service with a conformance.Handler behind it.
type Service struct {
	testv1.UnimplementedEchoServiceServer
	Handler conformance.Handler
}

// Register registers the echo service, and its health.
func Register(r grpc.ServiceRegistrar, h conformance.Handler) {
	testv1.RegisterEchoServiceServer(r, Service{Handler: h})
	grpc_health_v1.RegisterHealthServer(r, health.NewServer())
}

// Unary hands the call to the handler.
func (s Service) Unary(ctx context.Context, req *testv1.UnaryRequest) (*testv1.UnaryResponse, error) {
	resp := &testv1.UnaryResponse{}
	err := s.Handler(ctx, conformance.Unary, &stream{
		recv: once(req.GetText()),
		send: func(text string) error { resp.Text = text; return nil },
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// ClientStream hands the call to the handler.
func (s Service) ClientStream(
	ss grpc.ClientStreamingServer[testv1.ClientStreamRequest, testv1.ClientStreamResponse],
) error {
	return s.Handler(ss.Context(), conformance.ClientStream, &stream{
		recv: receive(ss.Recv),
		send: func(text string) error { return ss.SendAndClose(&testv1.ClientStreamResponse{Text: text}) },
	})
}

// ServerStream hands the call to the handler.
func (s Service) ServerStream(
	req *testv1.ServerStreamRequest, ss grpc.ServerStreamingServer[testv1.ServerStreamResponse],
) error {
	return s.Handler(ss.Context(), conformance.ServerStream, &stream{
		recv: once(req.GetText()),
		send: func(text string) error { return ss.Send(&testv1.ServerStreamResponse{Text: text}) },
	})
}

// BidiStream hands the call to the handler.
func (s Service) BidiStream(
	ss grpc.BidiStreamingServer[testv1.BidiStreamRequest, testv1.BidiStreamResponse],
) error {
	return s.Handler(ss.Context(), conformance.BidiStream, &stream{
		recv: receive(ss.Recv),
		send: func(text string) error { return ss.Send(&testv1.BidiStreamResponse{Text: text}) },
	})
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

type texter interface{ GetText() string }

// receive receives messages that have a text.
func receive[M texter](recv func() (M, error)) func() (string, error) {
	return func() (string, error) {
		m, err := recv()
		if err != nil {
			return "", err
		}
		return m.GetText(), nil
	}
}
