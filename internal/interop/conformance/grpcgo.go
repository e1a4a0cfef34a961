package main

import (
	"context"
	"net/http"
	"strings"

	"connectrpc.com/connect"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip" // the suite compresses with it
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"

	conformancev1 "github.com/rpcgate/rpcgate/internal/interop/conformance/made-by-go-generate/connectrpc/conformance/v1"
)

// grpcGo serves with grpc-go's handler for net/http, grpc.Server.ServeHTTP. Without a limit it is 0.
func grpcGo(limit int) http.Handler {
	var opts []grpc.ServerOption
	if limit > 0 {
		opts = append(opts, grpc.MaxRecvMsgSize(limit))
	}
	server := grpc.NewServer(opts...)
	conformancev1.RegisterConformanceServiceServer(server, serverGRPC{})
	return server
}

type serverGRPC struct {
	conformancev1.UnimplementedConformanceServiceServer
}

func (serverGRPC) Unary(ctx context.Context, req *conformancev1.UnaryRequest) (*conformancev1.UnaryResponse, error) {
	p, err := one(ctx, callGRPC{ctx}, once(req))
	return &conformancev1.UnaryResponse{Payload: p}, err
}

func (serverGRPC) IdempotentUnary(
	ctx context.Context, req *conformancev1.IdempotentUnaryRequest,
) (*conformancev1.IdempotentUnaryResponse, error) {
	p, err := one(ctx, callGRPC{ctx}, once(req))
	return &conformancev1.IdempotentUnaryResponse{Payload: p}, err
}

func (serverGRPC) ClientStream(
	s grpc.ClientStreamingServer[conformancev1.ClientStreamRequest, conformancev1.ClientStreamResponse],
) error {
	p, err := one(s.Context(), callGRPC{s.Context()}, s.Recv)
	if err != nil {
		return err
	}
	return s.SendAndClose(&conformancev1.ClientStreamResponse{Payload: p})
}

func (serverGRPC) ServerStream(
	req *conformancev1.ServerStreamRequest, s grpc.ServerStreamingServer[conformancev1.ServerStreamResponse],
) error {
	return many(s.Context(), callGRPC{s.Context()}, once(req), sender{
		headers: func() error { return s.SendHeader(nil) },
		payload: func(p *conformancev1.ConformancePayload) error {
			return s.Send(&conformancev1.ServerStreamResponse{Payload: p})
		},
	})
}

func (serverGRPC) BidiStream(
	s grpc.BidiStreamingServer[conformancev1.BidiStreamRequest, conformancev1.BidiStreamResponse],
) error {
	return many(s.Context(), callGRPC{s.Context()}, s.Recv, sender{
		headers: func() error { return s.SendHeader(nil) },
		payload: func(p *conformancev1.ConformancePayload) error {
			return s.Send(&conformancev1.BidiStreamResponse{Payload: p})
		},
	})
}

// callGRPC is a call by its context, from which grpc-go finds the stream.
type callGRPC struct{ ctx context.Context }

func (c callGRPC) request() (header, query []*conformancev1.Header) {
	md, _ := metadata.FromIncomingContext(c.ctx)
	for key, values := range md {
		if isBinary(key) {
			for i, v := range values { // of a copy
				values[i] = connect.EncodeBinaryHeader([]byte(v))
			}
		}
	}
	return headers(md), nil
}

func (c callGRPC) respond(headers, trailers []*conformancev1.Header) error {
	if err := grpc.SetHeader(c.ctx, toMetadata(headers)); err != nil {
		return err
	}
	return grpc.SetTrailer(c.ctx, toMetadata(trailers))
}

func (c callGRPC) failure(code conformancev1.Code, message string, details []*anypb.Any) error {
	return status.ErrorProto(&spb.Status{Code: int32(code), Message: message, Details: details})
}

// toMetadata decodes what is binary, since grpc-go encodes it.
func toMetadata(from []*conformancev1.Header) metadata.MD {
	md := make(metadata.MD)
	for _, h := range from {
		for _, v := range h.GetValue() {
			if isBinary(h.GetName()) {
				if b, err := connect.DecodeBinaryHeader(v); err == nil {
					v = string(b)
				}
			}
			md.Append(h.GetName(), v)
		}
	}
	return md
}

func isBinary(key string) bool { return strings.HasSuffix(strings.ToLower(key), "-bin") }
