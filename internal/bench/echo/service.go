// Package echo has the servers and clients that whole calls are measured with. All of them talk over loopback only.
package echo

import (
	"context"

	"connectrpc.com/connect"

	testv1connectv2 "github.com/rpcgate/rpcgate/gen/connectv2/rpcgate/test/v1/testv1connect"
	testv1 "github.com/rpcgate/rpcgate/gen/rpcgate/test/v1"
	"github.com/rpcgate/rpcgate/gen/rpcgate/test/v1/testv1connect"
)

// Route is the one that is called.
const Route = testv1connect.EchoServiceUnaryProcedure

// answer does nothing but copy references.
func answer(req *testv1.UnaryRequest) *testv1.UnaryResponse {
	return &testv1.UnaryResponse{Text: req.GetText(), Payload: req.GetPayload()}
}

type grpcService struct {
	testv1.UnimplementedEchoServiceServer
}

func (grpcService) Unary(_ context.Context, req *testv1.UnaryRequest) (*testv1.UnaryResponse, error) {
	return answer(req), nil
}

type connectService struct {
	testv1connect.UnimplementedEchoServiceHandler
}

func (connectService) Unary(
	_ context.Context, req *connect.Request[testv1.UnaryRequest],
) (*connect.Response[testv1.UnaryResponse], error) {
	return connect.NewResponse(answer(req.Msg)), nil
}

type connectServiceV2 struct {
	testv1connectv2.UnimplementedEchoServiceHandler
}

func (connectServiceV2) Unary(_ context.Context, req *testv1.UnaryRequest) (*testv1.UnaryResponse, error) {
	return answer(req), nil
}
