package main

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/anypb"

	conformancev1 "github.com/rpcgate/rpcgate/internal/interop/conformance/made-by-go-generate/connectrpc/conformance/v1"
	"github.com/rpcgate/rpcgate/internal/interop/conformance/made-by-go-generate/connectrpc/conformance/v1/conformancev1connect"
)

// connectV1 serves with Connect, version 1. Without a limit it is 0.
func connectV1(limit int) http.Handler {
	_, h := conformancev1connect.NewConformanceServiceHandler(serverV1{}, connect.WithReadMaxBytes(limit))
	return bidiOverHTTP1(h)
}

type serverV1 struct {
	conformancev1connect.UnimplementedConformanceServiceHandler
}

func (serverV1) Unary(
	ctx context.Context, req *connect.Request[conformancev1.UnaryRequest],
) (*connect.Response[conformancev1.UnaryResponse], error) {
	c := newCallV1(req.Header(), req.Peer())
	p, err := one(ctx, c, once(req.Msg))
	return answerV1(c, &conformancev1.UnaryResponse{Payload: p}, err)
}

func (serverV1) IdempotentUnary(
	ctx context.Context, req *connect.Request[conformancev1.IdempotentUnaryRequest],
) (*connect.Response[conformancev1.IdempotentUnaryResponse], error) {
	c := newCallV1(req.Header(), req.Peer())
	p, err := one(ctx, c, once(req.Msg))
	return answerV1(c, &conformancev1.IdempotentUnaryResponse{Payload: p}, err)
}

func (serverV1) ClientStream(
	ctx context.Context, s *connect.ClientStream[conformancev1.ClientStreamRequest],
) (*connect.Response[conformancev1.ClientStreamResponse], error) {
	c := newCallV1(s.RequestHeader(), s.Peer())
	p, err := one(ctx, c, func() (*conformancev1.ClientStreamRequest, error) {
		if s.Receive() {
			return s.Msg(), nil
		}
		if err := s.Err(); err != nil {
			return nil, err
		}
		return nil, io.EOF
	})
	return answerV1(c, &conformancev1.ClientStreamResponse{Payload: p}, err)
}

func (serverV1) ServerStream(
	ctx context.Context, req *connect.Request[conformancev1.ServerStreamRequest],
	s *connect.ServerStream[conformancev1.ServerStreamResponse],
) error {
	c := newCallV1(req.Header(), req.Peer())
	c.header, c.trailer = s.ResponseHeader(), s.ResponseTrailer()
	return many(ctx, c, once(req.Msg), sender{
		headers: func() error { return s.Send(nil) },
		payload: func(p *conformancev1.ConformancePayload) error {
			return s.Send(&conformancev1.ServerStreamResponse{Payload: p})
		},
	})
}

func (serverV1) BidiStream(
	ctx context.Context, s *connect.BidiStream[conformancev1.BidiStreamRequest, conformancev1.BidiStreamResponse],
) error {
	c := newCallV1(s.RequestHeader(), s.Peer())
	c.header, c.trailer = s.ResponseHeader(), s.ResponseTrailer()
	return many(ctx, c, s.Receive, sender{
		headers: func() error { return s.Send(nil) },
		payload: func(p *conformancev1.ConformancePayload) error {
			return s.Send(&conformancev1.BidiStreamResponse{Payload: p})
		},
	})
}

// callV1 is a call of which the response gets header and trailer: of a stream, its own, and else those that answerV1
// gives it.
type callV1 struct {
	asked           http.Header
	peer            connect.Peer
	header, trailer http.Header
}

func newCallV1(asked http.Header, peer connect.Peer) *callV1 {
	return &callV1{asked: asked, peer: peer, header: make(http.Header), trailer: make(http.Header)}
}

func (c *callV1) request() (header, query []*conformancev1.Header) {
	return headers(c.asked), headers(c.peer.Query)
}

func (c *callV1) respond(headers, trailers []*conformancev1.Header) error {
	addAll(headers, c.header)
	addAll(trailers, c.trailer)
	return nil
}

func (c *callV1) failure(code conformancev1.Code, message string, details []*anypb.Any) error {
	out := connect.NewError(connect.Code(code), errors.New(message))
	for _, d := range details {
		detail, err := connect.NewErrorDetail(d)
		if err != nil {
			return err
		}
		out.AddDetail(detail)
	}
	return out
}

// answerV1 ends a call that has one response.
func answerV1[Res any](c *callV1, res *Res, err error) (*connect.Response[Res], error) {
	if e := (*connect.Error)(nil); errors.As(err, &e) {
		maps.Copy(e.Meta(), c.header)
		for key, values := range c.trailer { // which may have keys of the header, too
			e.Meta()[key] = append(e.Meta()[key], values...)
		}
	}
	if err != nil {
		return nil, err
	}
	out := connect.NewResponse(res)
	maps.Copy(out.Header(), c.header)
	maps.Copy(out.Trailer(), c.trailer)
	return out, nil
}
