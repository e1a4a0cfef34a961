package main

import (
	"context"
	"net/http"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"google.golang.org/protobuf/types/known/anypb"

	conformancev1 "github.com/rpcgate/rpcgate/internal/interop/conformance/made-by-go-generate/connectrpc/conformance/v1"
	"github.com/rpcgate/rpcgate/internal/interop/conformance/made-by-go-generate/connectv2/connectrpc/conformance/v1/conformancev1connect"
)

// connectV2 serves with Connect, version 2. Without a limit it is 0.
func connectV2(limit int) http.Handler {
	server := connect.NewServer()
	conformancev1connect.RegisterConformanceServiceHandler(server, serverV2{})
	mux := http.NewServeMux()
	connecthttp.Mount(mux, server, connecthttp.WithReadMaxBytes(limit))
	return bidiOverHTTP1(mux)
}

type serverV2 struct {
	conformancev1connect.UnimplementedConformanceServiceHandler
}

func (serverV2) Unary(ctx context.Context, req *conformancev1.UnaryRequest) (*conformancev1.UnaryResponse, error) {
	p, err := one(ctx, newCallV2(ctx), once(req))
	return &conformancev1.UnaryResponse{Payload: p}, err
}

func (serverV2) IdempotentUnary(
	ctx context.Context, req *conformancev1.IdempotentUnaryRequest,
) (*conformancev1.IdempotentUnaryResponse, error) {
	p, err := one(ctx, newCallV2(ctx), once(req))
	return &conformancev1.IdempotentUnaryResponse{Payload: p}, err
}

func (serverV2) ClientStream(
	ctx context.Context, s conformancev1connect.ConformanceServiceClientStreamServerStream,
) (*conformancev1.ClientStreamResponse, error) {
	p, err := one(ctx, newCallV2(ctx), s.Receive)
	return &conformancev1.ClientStreamResponse{Payload: p}, err
}

func (serverV2) ServerStream(
	ctx context.Context, req *conformancev1.ServerStreamRequest, s conformancev1connect.ConformanceServiceServerStreamServerStream,
) error {
	return many(ctx, newCallV2(ctx), once(req), sender{
		headers: s.SendHeaders,
		payload: func(p *conformancev1.ConformancePayload) error {
			return s.Send(&conformancev1.ServerStreamResponse{Payload: p})
		},
	})
}

func (serverV2) BidiStream(ctx context.Context, s conformancev1connect.ConformanceServiceBidiStreamServerStream) error {
	return many(ctx, newCallV2(ctx), s.Receive, sender{
		headers: s.SendHeaders,
		payload: func(p *conformancev1.ConformancePayload) error {
			return s.Send(&conformancev1.BidiStreamResponse{Payload: p})
		},
	})
}

// callV2 has all that is known of a call in its context.
type callV2 struct {
	info *connect.CallInfo
	http *connecthttp.ServerInfo
}

func newCallV2(ctx context.Context) callV2 {
	info, _ := connect.CallInfoForServerContext(ctx)
	http, _ := connecthttp.ServerInfoForContext(ctx)
	return callV2{info: info, http: http}
}

func (c callV2) request() (header, query []*conformancev1.Header) {
	for name, values := range c.info.RequestHeader().All() {
		header = append(header, &conformancev1.Header{Name: name, Value: values})
	}
	url := c.http.RequestURL()
	return header, headers(url.Query())
}

func (c callV2) respond(headers, trailers []*conformancev1.Header) error {
	addAll(headers, c.info.ResponseHeader())
	addAll(trailers, c.info.ResponseTrailer())
	return nil
}

func (c callV2) failure(code conformancev1.Code, message string, details []*anypb.Any) error {
	out := connect.NewError(connect.Code(code), message)
	for _, d := range details {
		out = out.WithDetail(&connect.ErrorDetail{Type: string(d.MessageName()), Value: d.GetValue()})
	}
	return out
}
