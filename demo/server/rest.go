package server

import (
	"fmt"
	"net/http"

	"connectrpc.com/vanguard"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/grpc"

	"github.com/rpcgate/rpcgate/gen/demo/orders/v1/ordersv1connect"
	"github.com/rpcgate/rpcgate/interceptor/connectgate"
)

// restPath is what REST clients' paths begin with. Those that begin with restGRPCPath reach the grpc-go server instead of
// the Connect handler, which is no other service for a client: it is there to show both.
const (
	restPath     = "/v1/"
	restGRPCPath = "/grpc/v1/"
)

// newRESTHandler serves the orders to REST clients:
//
//	GET  /v1/orders?state=open&region=north+coast&limit=3
//	POST /v1/orders
//
// It turns their requests into calls of a handler of Connect or gRPC, below the given path. So the gate, which is in
// there, sees REST as it sees Connect or gRPC, and what it refuses comes out as 429 or 503 with Retry-After. The rules
// are here and not in the .proto files, which would need google/api/annotations.proto for that.
func newRESTHandler(path string, orders http.Handler, opts ...vanguard.ServiceOption) http.Handler {
	const service = ordersv1connect.OrderServiceName
	// state=open says what the list is anyway; onlyOpen sees to it that nothing else is said.
	opts = append(opts, vanguard.WithRESTUnmarshalOptions(vanguard.RESTUnmarshalOptions{DiscardUnknownQueryParams: true}))
	rest, err := vanguard.NewTranscoder(
		[]*vanguard.Service{vanguard.NewService(service, orders, opts...)},
		vanguard.WithRules(
			&annotations.HttpRule{
				Selector: service + ".ListOpenOrders",
				Pattern:  &annotations.HttpRule_Get{Get: path + "orders"},
			},
			&annotations.HttpRule{
				Selector: service + ".CreateOrder",
				Pattern:  &annotations.HttpRule_Post{Post: path + "orders"},
				Body:     "*",
			},
		),
	)
	if err != nil { // a rule of ours is wrong
		panic(err)
	}
	return onlyOpen(rest)
}

// onlyOpen refuses to list orders of another state, of which there is no list.
func onlyOpen(orders http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if state := r.URL.Query().Get("state"); r.Method == http.MethodGet && state != "" && state != "open" {
			http.Error(w, fmt.Sprintf("state: want open, got %q", state), http.StatusBadRequest)
			return
		}
		orders.ServeHTTP(w, r)
	})
}

// newRESTHandlerGRPC is newRESTHandler for a grpc-go server. grpc-go tells of the delay in a trailer, and must, or its own
// clients would not retry; Transcoded makes the header of it that REST clients know.
func newRESTHandlerGRPC(path string, g *grpc.Server) http.Handler {
	return newRESTHandler(path, connectgate.Transcoded(g),
		vanguard.WithTargetProtocols(vanguard.ProtocolGRPC), vanguard.WithTargetCodecs(vanguard.CodecProto))
}
