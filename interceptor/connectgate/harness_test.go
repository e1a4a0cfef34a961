package connectgate_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"
	connectv2 "connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/proto"

	"github.com/rpcgate/rpcgate/gate"
	testv1connectv2 "github.com/rpcgate/rpcgate/gen/connectv2/rpcgate/test/v1/testv1connect"
	testv1 "github.com/rpcgate/rpcgate/gen/rpcgate/test/v1"
	"github.com/rpcgate/rpcgate/gen/rpcgate/test/v1/testv1connect"
	"github.com/rpcgate/rpcgate/internal/memhttp"
)

const (
	unaryRoute        = testv1connect.EchoServiceUnaryProcedure
	clientStreamRoute = testv1connect.EchoServiceClientStreamProcedure
	serverStreamRoute = testv1connect.EchoServiceServerStreamProcedure
	bidiRoute         = testv1connect.EchoServiceBidiStreamProcedure
)

// work is what a handler does before it echoes; nil: nothing.
type work func(ctx context.Context) error

func (w work) do(ctx context.Context) error {
	if w == nil {
		return nil
	}
	return w(ctx)
}

// echoV1 is the echo service in Connect v1.
type echoV1 struct{ work }

func (e echoV1) Unary(ctx context.Context, req *connect.Request[testv1.UnaryRequest]) (*connect.Response[testv1.UnaryResponse], error) {
	if err := e.do(ctx); err != nil {
		return nil, err
	}
	return connect.NewResponse(&testv1.UnaryResponse{Text: req.Msg.Text, Payload: req.Msg.Payload}), nil
}

func (e echoV1) ClientStream(
	ctx context.Context, s *connect.ClientStream[testv1.ClientStreamRequest],
) (*connect.Response[testv1.ClientStreamResponse], error) {
	if err := e.do(ctx); err != nil {
		return nil, err
	}
	res := &testv1.ClientStreamResponse{}
	for s.Receive() {
		res.Text = s.Msg().Text
		res.Count++
	}
	return connect.NewResponse(res), s.Err()
}

func (e echoV1) ServerStream(
	ctx context.Context, req *connect.Request[testv1.ServerStreamRequest], s *connect.ServerStream[testv1.ServerStreamResponse],
) error {
	if err := e.do(ctx); err != nil {
		return err
	}
	for i := range req.Msg.Count {
		if err := s.Send(&testv1.ServerStreamResponse{Text: req.Msg.Text, Payload: req.Msg.Payload, Index: i}); err != nil {
			return err
		}
	}
	return nil
}

func (e echoV1) BidiStream(ctx context.Context, s *connect.BidiStream[testv1.BidiStreamRequest, testv1.BidiStreamResponse]) error {
	if err := e.do(ctx); err != nil {
		return err
	}
	for {
		req, err := s.Receive()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.Send(&testv1.BidiStreamResponse{Text: req.Text}); err != nil {
			return err
		}
	}
}

// handlerV1 serves echoV1 with the interceptors.
func handlerV1(w work, interceptors ...connect.Interceptor) http.Handler {
	mux := http.NewServeMux()
	mux.Handle(testv1connect.NewEchoServiceHandler(echoV1{w}, connect.WithInterceptors(interceptors...)))
	return mux
}

// echoV2 is the echo service in Connect v2.
type echoV2 struct{ work }

func (e echoV2) Unary(ctx context.Context, req *testv1.UnaryRequest) (*testv1.UnaryResponse, error) {
	return &testv1.UnaryResponse{Text: req.Text, Payload: req.Payload}, e.do(ctx)
}

func (e echoV2) ClientStream(
	ctx context.Context, s testv1connectv2.EchoServiceClientStreamServerStream,
) (*testv1.ClientStreamResponse, error) {
	if err := e.do(ctx); err != nil {
		return nil, err
	}
	res := &testv1.ClientStreamResponse{}
	for {
		req, err := s.Receive()
		if errors.Is(err, io.EOF) {
			return res, nil
		}
		if err != nil {
			return nil, err
		}
		res.Text = req.Text
		res.Count++
	}
}

func (e echoV2) ServerStream(
	ctx context.Context, req *testv1.ServerStreamRequest, s testv1connectv2.EchoServiceServerStreamServerStream,
) error {
	if err := e.do(ctx); err != nil {
		return err
	}
	for i := range req.Count {
		if err := s.Send(&testv1.ServerStreamResponse{Text: req.Text, Payload: req.Payload, Index: i}); err != nil {
			return err
		}
	}
	return nil
}

func (e echoV2) BidiStream(ctx context.Context, s testv1connectv2.EchoServiceBidiStreamServerStream) error {
	if err := e.do(ctx); err != nil {
		return err
	}
	for {
		req, err := s.Receive()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.Send(&testv1.BidiStreamResponse{Text: req.Text}); err != nil {
			return err
		}
	}
}

// handlerV2 serves echoV2 with the interceptors.
func handlerV2(w work, interceptors ...connectv2.ServerInterceptor) http.Handler {
	server := connectv2.NewServer(interceptors...)
	testv1connectv2.RegisterEchoServiceHandler(server, echoV2{w})
	mux := http.NewServeMux()
	connecthttp.Mount(mux, server)
	return mux
}

// newGate makes a gate with a limit of 1, without waiting and with a delay of 1.5 s if
// the options do not say otherwise. It must be empty at the end of the test.
func newGate(t testing.TB, opts ...gate.Option) *gate.Gate {
	t.Helper()
	delay := 1500 * time.Millisecond
	opts = append([]gate.Option{gate.WithMaxWait(0), gate.WithRetryDelay(delay, delay)}, opts...)
	g, err := gate.New("db", 1, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		synctest.Wait()
		if g.InFlight() != 0 || g.Waiting() != 0 {
			t.Errorf("%d in flight and %d waiting at the end", g.InFlight(), g.Waiting())
		}
	})
	return g
}

// isRounded reports whether a Retry-After says the delay of newGate in whole seconds.
func isRounded(got []string) bool { return len(got) == 1 && (got[0] == "1" || got[0] == "2") }

// fill takes the unit of the gate until the returned function is called.
func fill(t testing.TB, g *gate.Gate) (release func()) {
	t.Helper()
	lease, err := g.TryAcquire(gate.Call{Route: "filler"})
	if err != nil {
		t.Fatal(err)
	}
	return lease.Release
}

// exchange sends the text of an HTTP/1.1 request and returns the response with
// its body.
func exchange(t testing.TB, s *memhttp.Server, request string) (*http.Response, string) {
	t.Helper()
	conn, err := s.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	go func() { _, _ = io.WriteString(conn, strings.ReplaceAll(request, "\n", "\r\n")) }()
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}

// checkDetails checks the details of a refusal for want, by reason.
func checkDetails(t testing.TB, details []proto.Message, reason, requestID string) {
	t.Helper()
	if len(details) != 3 {
		t.Fatalf("got %d details, want 3: %v", len(details), details)
	}
	retry, _ := details[0].(*errdetails.RetryInfo)
	info, _ := details[1].(*errdetails.ErrorInfo)
	request, _ := details[2].(*errdetails.RequestInfo)
	if d := retry.GetRetryDelay().AsDuration(); d != 1500*time.Millisecond {
		t.Errorf("RetryInfo says %v, want 1.5s", d)
	}
	if info.GetReason() != reason || info.GetDomain() != "rpcgate" || len(info.GetMetadata()) != 0 {
		t.Errorf("ErrorInfo is %v, want reason %s, domain rpcgate and no more", info, reason)
	}
	if request.GetRequestId() != requestID {
		t.Errorf("RequestInfo is %v, want id %s", request, requestID)
	}
}

func marshal(t testing.TB, m proto.Message) []byte {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
