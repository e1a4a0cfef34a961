package connecthost

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"

	"connectrpc.com/connect"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/types/known/wrapperspb"

	testv1 "github.com/rpcgate/rpcgate/gen/rpcgate/test/v1"
	"github.com/rpcgate/rpcgate/gen/rpcgate/test/v1/testv1connect"
	"github.com/rpcgate/rpcgate/internal/conformance"
	"github.com/rpcgate/rpcgate/internal/memhttp"
)

const pushbackKey = "Grpc-Retry-Pushback-Ms"

// client is a client of Connect v1, for any of the protocols.
type client struct {
	server   *memhttp.Server
	http     *http.Client
	protocol Protocol
}

// NewClient returns a client of the echo service at a server.
func NewClient(server *memhttp.Server, p Protocol) conformance.Client {
	return &client{server: server, http: server.ClientHTTP2(), protocol: p}
}

func (c *client) Connections() int { return c.server.Connections() }

// Over returns the server and an HTTP/2 client of it.
func (c *client) Over() (*memhttp.Server, *http.Client) { return c.server, c.http }

// Post returns a call in the protocol of the client.
func (c *client) Post(text string) (path string, header http.Header, body string) {
	path = conformance.Unary.Route()
	switch c.protocol {
	case GRPC:
		return path, conformance.PostHeader("application/grpc+proto"), conformance.GRPCBody(text)
	case GRPCWeb:
		return path, conformance.PostHeader("application/grpc-web+proto"), conformance.GRPCBody(text)
	default:
		header = conformance.PostHeader("application/json")
		header.Set("Connect-Protocol-Version", "1")
		return path, header, fmt.Sprintf("{\"text\": %q}", text)
	}
}

func (c *client) Probe(ctx context.Context, path string) error {
	return conformance.Probe(ctx, c.http, c.server.URL+path)
}

func (c *client) options() connect.ClientOption {
	switch c.protocol {
	case GRPC:
		return connect.WithGRPC()
	case GRPCWeb:
		return connect.WithGRPCWeb()
	default:
		return connect.WithClientOptions()
	}
}

func (c *client) Open(ctx context.Context, shape conformance.Shape, header map[string]string) conformance.ClientCall {
	seen := &watcher{next: c.http}
	call := &clientCall{ctx: ctx, shape: shape, header: header, seen: seen}
	call.client = testv1connect.NewEchoServiceClient(seen, c.server.URL, c.options())
	switch shape {
	case conformance.ClientStream:
		call.clientStream = call.client.ClientStream(ctx)
		set(call.clientStream.RequestHeader(), header)
	case conformance.BidiStream:
		call.bidi = call.client.BidiStream(ctx)
		set(call.bidi.RequestHeader(), header)
	}
	return call
}

// Malformed sends a message with invalid UTF-8 in a string of the request.
func (c *client) Malformed(ctx context.Context) error {
	seen := &watcher{next: c.http}
	malformed := connect.NewClient[wrapperspb.BytesValue, testv1.UnaryResponse](
		seen, c.server.URL+conformance.Unary.Route(), c.options())
	_, err := malformed.CallUnary(ctx, connect.NewRequest(wrapperspb.Bytes([]byte{0xff, 0xfe})))
	return seen.failure(err)
}

func (c *client) Check(ctx context.Context) error {
	checker := connect.NewClient[grpc_health_v1.HealthCheckRequest, grpc_health_v1.HealthCheckResponse](
		c.http, c.server.URL+"/grpc.health.v1.Health/Check", c.options())
	res, err := checker.CallUnary(ctx, connect.NewRequest(&grpc_health_v1.HealthCheckRequest{}))
	if err == nil && res.Msg.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		err = fmt.Errorf("health status %s", res.Msg.GetStatus())
	}
	return err
}

// watcher keeps the status of the response, which may arrive after the call has ended.
type watcher struct {
	next   *http.Client
	status atomic.Int64
}

func (w *watcher) Do(r *http.Request) (*http.Response, error) {
	res, err := w.next.Do(r)
	if err == nil {
		w.status.Store(int64(res.StatusCode))
	}
	return res, err
}

// failure returns what a client sees of an error, or nil if there is none.
func (w *watcher) failure(err error) error {
	if err == nil {
		return nil
	}
	var e *connect.Error
	if !errors.As(err, &e) {
		return fmt.Errorf("an error that is none of Connect's: %w", err)
	}
	f := &conformance.Failure{
		Code: uint32(e.Code()), Message: e.Message(), HTTPStatus: int(w.status.Load()),
		Pushback: e.Meta().Values(pushbackKey), RetryAfter: e.Meta().Values("Retry-After"),
		CacheControl: e.Meta().Values("Cache-Control"),
		Dump:         fmt.Sprintf("%v\nmetadata %v", err, e.Meta()),
	}
	for _, detail := range e.Details() {
		if m, err := detail.Value(); err == nil {
			f.AddDetail(m)
		}
	}
	return f
}

func set(to http.Header, header map[string]string) {
	for key, value := range header {
		to.Set(key, value)
	}
}

// clientCall begins a call with a single request in the first Recv, when it knows the
// request.
type clientCall struct {
	client testv1connect.EchoServiceClient
	ctx    context.Context
	shape  conformance.Shape
	header map[string]string
	seen   *watcher
	text   string
	done   bool

	resHeader, resTrailer http.Header // of the response to a ClientStream

	clientStream *connect.ClientStreamForClient[testv1.ClientStreamRequest, testv1.ClientStreamResponse]
	serverStream *connect.ServerStreamForClient[testv1.ServerStreamResponse]
	bidi         *connect.BidiStreamForClient[testv1.BidiStreamRequest, testv1.BidiStreamResponse]
}

func (c *clientCall) Send(text string) error {
	switch c.shape {
	case conformance.ClientStream:
		return c.clientStream.Send(&testv1.ClientStreamRequest{Text: text})
	case conformance.BidiStream:
		return c.bidi.Send(&testv1.BidiStreamRequest{Text: text})
	default:
		c.text = text
		return nil
	}
}

func (c *clientCall) CloseSend() error {
	if c.shape == conformance.BidiStream {
		return c.bidi.CloseRequest()
	}
	return nil
}

func (c *clientCall) Recv() (string, error) {
	text, err := c.recv()
	if errors.Is(err, io.EOF) {
		return "", io.EOF
	}
	return text, c.seen.failure(err)
}

func (c *clientCall) Delays() (pushback, retryAfter []string) {
	header, trailer := c.resHeader, c.resTrailer
	if c.shape == conformance.BidiStream {
		header, trailer = c.bidi.ResponseHeader(), c.bidi.ResponseTrailer()
	}
	return append(header.Values(pushbackKey), trailer.Values(pushbackKey)...),
		append(header.Values("Retry-After"), trailer.Values("Retry-After")...)
}

func (c *clientCall) recv() (string, error) {
	switch {
	case c.shape == conformance.ServerStream:
		return c.recvServerStream()
	case c.shape == conformance.BidiStream:
		m, err := c.bidi.Receive()
		if err != nil {
			_ = c.bidi.CloseResponse()
		}
		return m.GetText(), err
	case c.done:
		return "", io.EOF
	}
	c.done = true
	if c.shape == conformance.ClientStream {
		res, err := c.clientStream.CloseAndReceive()
		if err != nil {
			return "", err
		}
		c.resHeader, c.resTrailer = res.Header(), res.Trailer()
		return res.Msg.GetText(), nil
	}
	req := connect.NewRequest(&testv1.UnaryRequest{Text: c.text})
	set(req.Header(), c.header)
	res, err := c.client.Unary(c.ctx, req)
	if err != nil {
		return "", err
	}
	return res.Msg.GetText(), nil
}

func (c *clientCall) recvServerStream() (string, error) {
	if c.serverStream == nil {
		req := connect.NewRequest(&testv1.ServerStreamRequest{Text: c.text})
		set(req.Header(), c.header)
		stream, err := c.client.ServerStream(c.ctx, req)
		if err != nil {
			return "", err
		}
		c.serverStream = stream
	}
	if c.serverStream.Receive() {
		return c.serverStream.Msg().GetText(), nil
	}
	defer c.serverStream.Close()
	if err := c.serverStream.Err(); err != nil {
		return "", err
	}
	return "", io.EOF
}
