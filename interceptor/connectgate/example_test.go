package connectgate_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"connectrpc.com/connect"
	connectv2 "connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"

	"github.com/rpcgate/rpcgate/gate"
	testv1connectv2 "github.com/rpcgate/rpcgate/gen/connectv2/rpcgate/test/v1/testv1connect"
	testv1 "github.com/rpcgate/rpcgate/gen/rpcgate/test/v1"
	"github.com/rpcgate/rpcgate/gen/rpcgate/test/v1/testv1connect"
	"github.com/rpcgate/rpcgate/interceptor/connectgate"
)

// A Connect v1 handler, and what its client sees when the gate is full.
func ExampleNewInterceptor() {
	db := gate.Must(gate.New("orders-db", 1, gate.WithMaxWait(0), gate.WithRetryDelay(2*time.Second, 2*time.Second)))
	mux := http.NewServeMux()
	mux.Handle(testv1connect.NewEchoServiceHandler(echoV1{},
		connect.WithInterceptors(connectgate.NewInterceptor(db))))
	server := httptest.NewServer(mux)
	defer server.Close()

	client := testv1connect.NewEchoServiceClient(server.Client(), server.URL)
	call := func() {
		res, err := client.Unary(context.Background(), connect.NewRequest(&testv1.UnaryRequest{Text: "hello"}))
		var refused *connect.Error
		if !errors.As(err, &refused) {
			fmt.Println(res.Msg.GetText())
			return
		}
		fmt.Println(refused, "- Retry-After:", refused.Meta().Get("Retry-After"))
		for _, d := range refused.Details() {
			if m, err := d.Value(); err == nil {
				if retry, ok := m.(*errdetails.RetryInfo); ok {
					fmt.Println("exactly:", retry.GetRetryDelay().AsDuration())
				}
			}
		}
	}
	call()
	lease, err := db.TryAcquire(gate.Call{}) // the one unit that there is
	if err != nil {
		fmt.Println(err)
	}
	defer lease.Release()
	call()
	// Output:
	// hello
	// resource_exhausted: server busy - Retry-After: 2
	// exactly: 2s
}

// A Connect v2 server. With the middleware in front a refused call is not even
// read, and with TrailersOnly gRPC clients retry it.
func ExampleNewServerInterceptor() {
	db := gate.Must(gate.New("orders-db", 16))
	server := connectv2.NewServer(connectgate.NewServerInterceptor(db))
	testv1connectv2.RegisterEchoServiceHandler(server, echoV2{})
	mux := http.NewServeMux()
	connecthttp.Mount(mux, server)
	handler := connectgate.TrailersOnly(connectgate.NewMiddleware(db)(mux))

	web := httptest.NewServer(handler)
	defer web.Close()
	client := testv1connectv2.NewEchoServiceClient(connectv2.NewClient(connecthttp.NewTransport(web.Client(), web.URL)))
	res, err := client.Unary(context.Background(), &testv1.UnaryRequest{Text: "hello"})
	fmt.Println(res.GetText(), err)
	// Output: hello <nil>
}

// A gate in front of a downstream: a call that it refuses is not sent.
func ExampleIsLocal() {
	pricing := gate.Must(gate.New("pricing", 1, gate.WithMaxWait(0)))
	client := testv1connect.NewEchoServiceClient(http.DefaultClient, "http://pricing.test",
		connect.WithInterceptors(connectgate.NewInterceptor(pricing)))

	lease, err := pricing.TryAcquire(gate.Call{}) // another call is in flight
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lease.Release()
	_, err = client.Unary(context.Background(), connect.NewRequest(&testv1.UnaryRequest{}))
	fmt.Println(err, connectgate.IsLocal(err), errors.Is(err, gate.ErrBusy))
	// Output: resource_exhausted: client busy true true
}
