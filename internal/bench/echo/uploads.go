package echo

import (
	"context"
	"errors"
	"io"

	"connectrpc.com/connect"
	"google.golang.org/grpc"

	testv1 "github.com/rpcgate/rpcgate/gen/rpcgate/test/v1"
)

// ClientStream counts the messages of an upload.
func (grpcService) ClientStream(s grpc.ClientStreamingServer[testv1.ClientStreamRequest, testv1.ClientStreamResponse]) error {
	res := &testv1.ClientStreamResponse{}
	for {
		switch _, err := s.Recv(); {
		case errors.Is(err, io.EOF):
			return s.SendAndClose(res)
		case err != nil:
			return err
		}
		res.Count++
	}
}

// ClientStream does the same.
func (connectService) ClientStream(
	_ context.Context, s *connect.ClientStream[testv1.ClientStreamRequest],
) (*connect.Response[testv1.ClientStreamResponse], error) {
	res := &testv1.ClientStreamResponse{}
	for s.Receive() {
		res.Count++
	}
	return connect.NewResponse(res), s.Err()
}
