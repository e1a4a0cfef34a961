package connectgate_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/rpcgate/rpcgate/gate"
	testv1 "github.com/rpcgate/rpcgate/gen/rpcgate/test/v1"
	"github.com/rpcgate/rpcgate/interceptor/connectgate"
	"github.com/rpcgate/rpcgate/interceptor/grpcgate"
	"github.com/rpcgate/rpcgate/internal/memhttp"
)

// retryPolicy is what a client of gRPC is configured with to retry.
const retryPolicy = `{"methodConfig": [{"name": [{}], "retryPolicy": {"maxAttempts": 5, "initialBackoff": "0.01s",
	"maxBackoff": "0.01s", "backoffMultiplier": 1, "retryableStatusCodes": ["RESOURCE_EXHAUSTED", "UNAVAILABLE"]}}]}`

// dialGRPC returns a grpc-go client of the server with a retry policy.
func dialGRPC(t testing.TB, s *memhttp.Server) testv1.EchoServiceClient {
	t.Helper()
	creds := insecure.NewCredentials()
	if config := s.TLS(); config != nil {
		creds = credentials.NewTLS(config)
	}
	conn, err := grpc.NewClient("passthrough:///in-memory.test", grpc.WithTransportCredentials(creds),
		grpc.WithDefaultServiceConfig(retryPolicy),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return s.Dial(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return testv1.NewEchoServiceClient(conn)
}

// echoGRPC is the echo service in grpc-go.
type echoGRPC struct {
	testv1.UnimplementedEchoServiceServer
	work
}

func (e echoGRPC) Unary(ctx context.Context, req *testv1.UnaryRequest) (*testv1.UnaryResponse, error) {
	return &testv1.UnaryResponse{Text: req.Text, Payload: req.Payload}, e.do(ctx)
}

func (e echoGRPC) ClientStream(s grpc.ClientStreamingServer[testv1.ClientStreamRequest, testv1.ClientStreamResponse]) error {
	if err := e.do(s.Context()); err != nil {
		return err
	}
	res := &testv1.ClientStreamResponse{}
	for {
		req, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return s.SendAndClose(res)
		}
		if err != nil {
			return err
		}
		res.Text = req.Text
		res.Count++
	}
}

func (e echoGRPC) ServerStream(req *testv1.ServerStreamRequest, s grpc.ServerStreamingServer[testv1.ServerStreamResponse]) error {
	if err := e.do(s.Context()); err != nil {
		return err
	}
	for i := range req.Count {
		if err := s.Send(&testv1.ServerStreamResponse{Text: req.Text, Payload: req.Payload, Index: i}); err != nil {
			return err
		}
	}
	return nil
}

func (e echoGRPC) BidiStream(s grpc.BidiStreamingServer[testv1.BidiStreamRequest, testv1.BidiStreamResponse]) error {
	if err := e.do(s.Context()); err != nil {
		return err
	}
	for {
		req, err := s.Recv()
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

// handlerGRPC serves echoGRPC over net/http.
func handlerGRPC(w work, opts ...grpc.ServerOption) http.Handler {
	server := grpc.NewServer(opts...)
	testv1.RegisterEchoServiceServer(server, echoGRPC{work: w})
	return server
}

// callGRPC makes a whole call of a route and checks the echo. A bidirectional
// stream is kept open until its answer is there.
func callGRPC(ctx context.Context, client testv1.EchoServiceClient, route string) error {
	var got string
	var err error
	switch route {
	case unaryRoute:
		var res *testv1.UnaryResponse
		res, err = client.Unary(ctx, &testv1.UnaryRequest{Text: "hello"})
		got = res.GetText()
	case clientStreamRoute:
		got, err = clientStreamGRPC(ctx, client)
	case serverStreamRoute:
		var s grpc.ServerStreamingClient[testv1.ServerStreamResponse]
		if s, err = client.ServerStream(ctx, &testv1.ServerStreamRequest{Text: "hello", Count: 1}); err == nil {
			var res *testv1.ServerStreamResponse
			res, err = s.Recv()
			got = res.GetText()
			if err == nil {
				err = ended(s.RecvMsg(&testv1.ServerStreamResponse{}))
			}
		}
	case bidiRoute:
		got, err = bidiGRPC(ctx, client)
	}
	if err == nil && got != "hello" {
		err = errors.New("the echo is " + got)
	}
	return err
}

// ended is nil if err is io.EOF.
func ended(err error) error {
	switch {
	case err == nil:
		return errors.New("a message too many")
	case errors.Is(err, io.EOF):
		return nil
	default:
		return err
	}
}

func clientStreamGRPC(ctx context.Context, client testv1.EchoServiceClient) (string, error) {
	s, err := client.ClientStream(ctx)
	if err != nil {
		return "", err
	}
	if err := s.Send(&testv1.ClientStreamRequest{Text: "hello"}); err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	res, err := s.CloseAndRecv()
	return res.GetText(), err
}

func bidiGRPC(ctx context.Context, client testv1.EchoServiceClient) (string, error) {
	s, err := client.BidiStream(ctx)
	if err != nil {
		return "", err
	}
	if err := s.Send(&testv1.BidiStreamRequest{Text: "hello"}); err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	res, err := s.Recv()
	if err != nil {
		return "", err
	}
	if err := s.CloseSend(); err != nil {
		return "", err
	}
	return res.GetText(), ended(s.RecvMsg(&testv1.BidiStreamResponse{}))
}

// grpcServers are all that speak gRPC over net/http, in front of one gate.
func grpcServers(g *gate.Gate) map[string]http.Handler {
	all := servers(g, nil)
	all["grpc-go"] = handlerGRPC(nil, grpcgate.ServerOptions(g)...)
	return all
}

func TestGRPCClientRetriesAfterTheDelayItWasTold(t *testing.T) {
	starts := map[string]func(testing.TB, http.Handler) *memhttp.Server{"h2c": memhttp.Start, "TLS": memhttp.StartTLS}
	for transport, start := range starts {
		for _, name := range []string{"v1", "v2", "grpc-go", "middleware/v1"} {
			t.Run(transport+"/"+name, func(t *testing.T) {
				eachShape(t, func(t *testing.T, route string) {
					refusals, release := 0, func() {}
					g := newGate(t, gate.WithOnEvent(func(_ context.Context, e gate.Event) {
						if e.Rejection != nil {
							if refusals++; refusals == 2 {
								release()
							}
						}
					}))
					release = fill(t, g)
					client := dialGRPC(t, start(t, connectgate.TrailersOnly(grpcServers(g)[name])))
					began := time.Now()
					if err := callGRPC(t.Context(), client, route); err != nil {
						t.Fatal(err)
					}
					want := 3 * time.Second // two delays
					if strings.HasSuffix(route, "BidiStream") {
						want += 2 * 10 * time.Millisecond // the client keeps its side open, see drain
					}
					if took := time.Since(began); took != want || refusals != 2 {
						t.Errorf("%d refusals in %s, want 2 in %s", refusals, took, want)
					}
				})
			})
		}
	}
}

func TestGRPCClientDoesNotRetryWithoutTrailersOnly(t *testing.T) {
	for _, name := range []string{"v1", "v2", "grpc-go"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGate(t)
				defer fill(t, g)()
				client := dialGRPC(t, memhttp.Start(t, grpcServers(g)[name]))
				checkRefusedGRPC(t, callGRPC(t.Context(), client, unaryRoute))
				if n := g.Snapshot().Totals.RejectedBusy; n != 1 {
					t.Errorf("%d refusals: if clients do retry, TrailersOnly is not needed any more", n)
				}
			})
		})
	}
}

func TestGRPCClientDoesNotRetryPastItsDeadline(t *testing.T) {
	for _, name := range []string{"v1", "v2", "grpc-go", "middleware/v1"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGate(t)
				defer fill(t, g)()
				client := dialGRPC(t, memhttp.Start(t, connectgate.TrailersOnly(grpcServers(g)[name])))
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				checkRefusedGRPC(t, callGRPC(ctx, client, unaryRoute))
				if n := g.Snapshot().Totals.RejectedBusy; n != 1 {
					t.Errorf("%d refusals, want 1: the delay is longer than the deadline", n)
				}
			})
		})
	}
}

func checkRefusedGRPC(t *testing.T, err error) {
	t.Helper()
	s := status.Convert(err)
	if s.Code() != codes.ResourceExhausted || s.Message() != "server busy" {
		t.Fatalf("got %v, want ResourceExhausted and server busy", err)
	}
	var details []proto.Message
	for _, d := range s.Details() {
		m, ok := d.(proto.Message)
		if !ok {
			t.Fatalf("detail %v", d)
		}
		details = append(details, m)
	}
	if len(details) != 3 {
		t.Errorf("details %v, want 3", details)
	}
}
