package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	conformancev1 "github.com/rpcgate/rpcgate/internal/interop/conformance/gen/connectrpc/conformance/v1"
	"github.com/rpcgate/rpcgate/internal/interop/conformance/gen/connectrpc/conformance/v1/conformancev1connect"
)

// server is the suite's service: it answers as the requests say, and tells what it has received. What it has to do is
// in the suite's service.proto. Unimplemented is left out on purpose.
type server struct {
	conformancev1connect.UnimplementedConformanceServiceHandler
}

func (server) Unary(
	ctx context.Context, req *connect.Request[conformancev1.UnaryRequest],
) (*connect.Response[conformancev1.UnaryResponse], error) {
	seen := see(ctx, req.Header(), nil)
	seen.add(req.Msg)
	return unary(ctx, req.Msg.GetResponseDefinition(), seen, func(p *conformancev1.ConformancePayload) *conformancev1.UnaryResponse {
		return &conformancev1.UnaryResponse{Payload: p}
	})
}

func (server) IdempotentUnary(
	ctx context.Context, req *connect.Request[conformancev1.IdempotentUnaryRequest],
) (*connect.Response[conformancev1.IdempotentUnaryResponse], error) {
	seen := see(ctx, req.Header(), req.Peer().Query)
	seen.add(req.Msg)
	return unary(ctx, req.Msg.GetResponseDefinition(), seen,
		func(p *conformancev1.ConformancePayload) *conformancev1.IdempotentUnaryResponse {
			return &conformancev1.IdempotentUnaryResponse{Payload: p}
		})
}

func (server) ClientStream(
	ctx context.Context, s *connect.ClientStream[conformancev1.ClientStreamRequest],
) (*connect.Response[conformancev1.ClientStreamResponse], error) {
	seen := see(ctx, s.RequestHeader(), s.Peer().Query)
	var def *conformancev1.UnaryResponseDefinition
	for first := true; s.Receive(); first = false {
		if first {
			def = s.Msg().GetResponseDefinition()
		}
		seen.add(s.Msg())
	}
	if err := s.Err(); err != nil {
		return nil, err
	}
	return unary(ctx, def, seen, func(p *conformancev1.ConformancePayload) *conformancev1.ClientStreamResponse {
		return &conformancev1.ClientStreamResponse{Payload: p}
	})
}

func (server) ServerStream(
	ctx context.Context, req *connect.Request[conformancev1.ServerStreamRequest],
	s *connect.ServerStream[conformancev1.ServerStreamResponse],
) error {
	seen := see(ctx, req.Header(), req.Peer().Query)
	seen.add(req.Msg)
	def := req.Msg.GetResponseDefinition()
	out := responses{def: def, seen: seen, send: func(p *conformancev1.ConformancePayload) error {
		return s.Send(&conformancev1.ServerStreamResponse{Payload: p})
	}}
	addAll(def.GetResponseHeaders(), s.ResponseHeader())
	addAll(def.GetResponseTrailers(), s.ResponseTrailer())
	if len(def.GetResponseData()) > 0 {
		if err := s.Send(nil); err != nil { // the headers alone
			return err
		}
	}
	return out.finish(ctx)
}

func (server) BidiStream(
	ctx context.Context, s *connect.BidiStream[conformancev1.BidiStreamRequest, conformancev1.BidiStreamResponse],
) error {
	out := responses{seen: see(ctx, s.RequestHeader(), s.Peer().Query), send: func(p *conformancev1.ConformancePayload) error {
		return s.Send(&conformancev1.BidiStreamResponse{Payload: p})
	}}
	fullDuplex := false
	for first := true; ; first = false {
		req, err := s.Receive()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		out.seen.add(req)
		if first {
			out.def, fullDuplex = req.GetResponseDefinition(), req.GetFullDuplex()
			addAll(out.def.GetResponseHeaders(), s.ResponseHeader())
			addAll(out.def.GetResponseTrailers(), s.ResponseTrailer())
			if fullDuplex && !out.done() {
				if err := s.Send(nil); err != nil {
					return err
				}
			}
		}
		if !fullDuplex {
			continue
		}
		if out.done() {
			break
		}
		if err := out.next(ctx); err != nil {
			return err
		}
		out.seen = &sight{} // later responses tell only what was received since
	}
	if !fullDuplex && !out.done() {
		if err := s.Send(nil); err != nil {
			return err
		}
	}
	return out.finish(ctx)
}

// sight is what is told of a call.
type sight struct {
	info conformancev1.ConformancePayload_RequestInfo
	err  error
}

func see(ctx context.Context, header http.Header, query url.Values) *sight {
	s := &sight{}
	s.info.RequestHeaders = headers(header)
	if len(query) > 0 {
		s.info.ConnectGetInfo = &conformancev1.ConformancePayload_ConnectGetInfo{QueryParams: headers(query)}
	}
	if deadline, ok := ctx.Deadline(); ok {
		s.info.TimeoutMs = proto.Int64(time.Until(deadline).Milliseconds())
	}
	return s
}

func (s *sight) add(request proto.Message) {
	a, err := anypb.New(request)
	s.info.Requests, s.err = append(s.info.Requests, a), errors.Join(s.err, err)
}

// failed makes the error that a definition asks for. If nothing was sent, what was seen is told as a detail of it.
func (s *sight) failed(def *conformancev1.Error, tell bool) *connect.Error {
	out := connect.NewError(connect.Code(def.GetCode()), errors.New(def.GetMessage()))
	details := def.GetDetails()
	if tell {
		a, err := anypb.New(&s.info)
		if err = errors.Join(err, s.err); err != nil {
			return connect.NewError(connect.CodeInternal, err)
		}
		details = append(details, a)
	}
	for _, d := range details {
		detail, err := connect.NewErrorDetail(d)
		if err != nil {
			return connect.NewError(connect.CodeInternal, err)
		}
		out.AddDetail(detail)
	}
	return out
}

// unary answers with one response.
func unary[Res any](
	ctx context.Context, def *conformancev1.UnaryResponseDefinition, seen *sight, response func(*conformancev1.ConformancePayload) *Res,
) (*connect.Response[Res], error) {
	if def.GetError() != nil {
		err := seen.failed(def.GetError(), true)
		addAll(def.GetResponseHeaders(), err.Meta())
		addAll(def.GetResponseTrailers(), err.Meta())
		return nil, err
	}
	if err := wait(ctx, def.GetResponseDelayMs()); err != nil {
		return nil, err
	}
	res := connect.NewResponse(response(&conformancev1.ConformancePayload{Data: def.GetResponseData(), RequestInfo: &seen.info}))
	addAll(def.GetResponseHeaders(), res.Header())
	addAll(def.GetResponseTrailers(), res.Trailer())
	return res, seen.err
}

// responses sends those of a stream.
type responses struct {
	def  *conformancev1.StreamResponseDefinition
	seen *sight
	send func(*conformancev1.ConformancePayload) error
	sent int
}

func (r *responses) done() bool { return r.sent >= len(r.def.GetResponseData()) }

// next sends one response; what was seen goes with it if there is any.
func (r *responses) next(ctx context.Context) error {
	if err := errors.Join(r.seen.err, wait(ctx, r.def.GetResponseDelayMs())); err != nil {
		return err
	}
	p := &conformancev1.ConformancePayload{Data: r.def.GetResponseData()[r.sent]}
	if r.sent == 0 || len(r.seen.info.Requests) > 0 {
		p.RequestInfo = &r.seen.info
	}
	r.sent++
	return r.send(p)
}

// finish sends the rest of the responses, and the error if there is one to be.
func (r *responses) finish(ctx context.Context) error {
	for !r.done() {
		if err := r.next(ctx); err != nil {
			return err
		}
		r.seen = &sight{}
	}
	if r.def.GetError() != nil {
		return r.seen.failed(r.def.GetError(), r.sent == 0)
	}
	return nil
}

func wait(ctx context.Context, ms uint32) error {
	if ms == 0 {
		return nil
	}
	select {
	case <-time.After(time.Duration(ms) * time.Millisecond):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func headers(m map[string][]string) []*conformancev1.Header {
	var out []*conformancev1.Header
	for name, values := range m {
		out = append(out, &conformancev1.Header{Name: name, Value: values})
	}
	return out
}

func addAll(from []*conformancev1.Header, to http.Header) {
	for _, h := range from {
		for _, v := range h.GetValue() {
			to.Add(h.GetName(), v)
		}
	}
}
