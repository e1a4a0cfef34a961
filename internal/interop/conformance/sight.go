package main

import (
	"context"
	"errors"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	conformancev1 "github.com/rpcgate/rpcgate/internal/interop/conformance/made-by-go-generate/connectrpc/conformance/v1"
)

// sight is what the client is told of what has arrived of its call.
type sight struct {
	info conformancev1.ConformancePayload_RequestInfo
	err  error
}

func see(ctx context.Context, c call) *sight {
	s := &sight{}
	headers, query := c.request()
	s.info.RequestHeaders = headers
	if len(query) > 0 {
		s.info.ConnectGetInfo = &conformancev1.ConformancePayload_ConnectGetInfo{QueryParams: query}
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

// failure makes the error that a definition asks for. If nothing was sent, what was seen is told as a detail of it.
func (s *sight) failure(c call, def *conformancev1.Error, tell bool) error {
	details := def.GetDetails()
	if tell {
		a, err := anypb.New(&s.info)
		if err = errors.Join(err, s.err); err != nil {
			return err
		}
		details = append(details, a)
	}
	return c.failure(def.GetCode(), def.GetMessage(), details)
}

// headers puts headers, metadata or parameters into messages.
func headers(m map[string][]string) []*conformancev1.Header {
	var out []*conformancev1.Header
	for name, values := range m {
		out = append(out, &conformancev1.Header{Name: name, Value: values})
	}
	return out
}

// addAll adds headers to what a library has for them.
func addAll(from []*conformancev1.Header, to interface{ Add(key, value string) }) {
	for _, h := range from {
		for _, v := range h.GetValue() {
			to.Add(h.GetName(), v)
		}
	}
}
