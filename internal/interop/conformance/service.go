package main

import (
	"context"
	"errors"
	"io"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	conformancev1 "github.com/rpcgate/rpcgate/internal/interop/conformance/made-by-go-generate/connectrpc/conformance/v1"
)

// The suite's service answers as the requests say, and tells what it has received; what it has to do is in the suite's
// service.proto. This is the part of it that is the same whatever the library: one function for the methods that have
// one response, one for the others. Unimplemented is left out on purpose.

// call is what a library knows of a call besides the messages.
type call interface {
	// request has the headers, and the parameters of a GET.
	request() (headers, query []*conformancev1.Header)
	// respond sets headers and trailers of the response. They are sent later.
	respond(headers, trailers []*conformancev1.Header) error
	failure(code conformancev1.Code, message string, details []*anypb.Any) error
}

// asksForOne is a request of a method with one response.
type asksForOne interface {
	proto.Message
	GetResponseDefinition() *conformancev1.UnaryResponseDefinition
}

// one serves a call with one response. It is told that there are no more requests by io.EOF.
func one[Req asksForOne](ctx context.Context, c call, receive func() (Req, error)) (*conformancev1.ConformancePayload, error) {
	seen := see(ctx, c)
	var def *conformancev1.UnaryResponseDefinition
	for first := true; ; first = false {
		req, err := receive()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if first {
			def = req.GetResponseDefinition()
		}
		seen.add(req)
	}
	if err := c.respond(def.GetResponseHeaders(), def.GetResponseTrailers()); err != nil {
		return nil, err
	}
	if def.GetError() != nil {
		return nil, seen.failure(c, def.GetError(), true)
	}
	if err := wait(ctx, def.GetResponseDelayMs()); err != nil {
		return nil, err
	}
	return &conformancev1.ConformancePayload{Data: def.GetResponseData(), RequestInfo: &seen.info}, seen.err
}

// asksForMany is a request of a method with a stream of responses.
type asksForMany interface {
	proto.Message
	GetResponseDefinition() *conformancev1.StreamResponseDefinition
}

// sender sends what goes into a stream of responses.
type sender struct {
	headers func() error // alone, ahead of the first response
	payload func(*conformancev1.ConformancePayload) error
}

// many serves a call with a stream of responses.
func many[Req asksForMany](ctx context.Context, c call, receive func() (Req, error), to sender) error {
	out := &responses{call: c, to: to, seen: see(ctx, c)}
	fullDuplex := false
	for first := true; ; first = false {
		req, err := receive()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		out.seen.add(req)
		if first {
			fullDuplex = isFullDuplex(req)
			if err := out.begin(req.GetResponseDefinition()); err != nil {
				return err
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
	}
	return out.finish(ctx)
}

// isFullDuplex reports whether every request wants its response at once, which only those of BidiStream can.
func isFullDuplex(req proto.Message) bool {
	bidi, ok := req.(*conformancev1.BidiStreamRequest)
	return ok && bidi.GetFullDuplex()
}

// responses sends those of a stream.
type responses struct {
	call   call
	to     sender
	def    *conformancev1.StreamResponseDefinition
	seen   *sight
	sent   int
	opened bool
}

func (r *responses) begin(def *conformancev1.StreamResponseDefinition) error {
	r.def = def
	return r.call.respond(def.GetResponseHeaders(), def.GetResponseTrailers())
}

func (r *responses) done() bool { return r.sent >= len(r.def.GetResponseData()) }

// next sends one response; what was seen goes with it if there is any.
func (r *responses) next(ctx context.Context) error {
	if err := r.open(); err != nil {
		return err
	}
	if err := errors.Join(r.seen.err, wait(ctx, r.def.GetResponseDelayMs())); err != nil {
		return err
	}
	p := &conformancev1.ConformancePayload{Data: r.def.GetResponseData()[r.sent]}
	if r.sent == 0 || len(r.seen.info.Requests) > 0 {
		p.RequestInfo = &r.seen.info
	}
	r.sent++
	r.seen = &sight{} // later responses tell only what was received since
	return r.to.payload(p)
}

// open sends the headers: a client must not have to wait for them as long as for the first response.
func (r *responses) open() error {
	if r.opened {
		return nil
	}
	r.opened = true
	return r.to.headers()
}

// finish sends the rest of the responses, and the error if there is one to be.
func (r *responses) finish(ctx context.Context) error {
	for !r.done() {
		if err := r.next(ctx); err != nil {
			return err
		}
	}
	if r.def.GetError() != nil {
		return r.seen.failure(r.call, r.def.GetError(), r.sent == 0)
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

// once receives the one request there is.
func once[Req any](req Req) func() (Req, error) {
	received := false
	return func() (Req, error) {
		if received {
			var none Req
			return none, io.EOF
		}
		received = true
		return req, nil
	}
}
