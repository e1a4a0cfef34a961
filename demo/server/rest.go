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

// The paths of REST clients begin with restPath, which leads to the Connect handler, or with restGRPCPath, which leads
// to the grpc-go server. Both give the same answers: the demo has two to show both ways.
const (
	restPath     = "/v1/"
	restGRPCPath = "/grpc/v1/"
)

// newRESTHandler serves the orders to REST clients:
//
//	GET  /v1/orders?state=open&region=north+coast&limit=3
//	POST /v1/orders
//
// It turns requests below the given path into calls of a Connect or gRPC handler. The gate is in that handler, so it
// treats REST like Connect or gRPC, and its refusals come out as 429 or 503 with Retry-After. The rules are here
// because in the .proto files they would need google/api/annotations.proto.
func newRESTHandler(path string, orders http.Handler, opts ...vanguard.ServiceOption) http.Handler {
	const service = ordersv1connect.OrderServiceName
	// The list always has open orders only, so state=open is ignored. onlyOpen allows no other state.
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
	if err != nil { // one of these rules is wrong
		panic(err)
	}
	return onlyOpen(rest)
}

// onlyOpen answers requests for orders of another state with 400: there is no such list.
func onlyOpen(orders http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if state := r.URL.Query().Get("state"); r.Method == http.MethodGet && state != "" && state != "open" {
			http.Error(w, fmt.Sprintf("state: want open, got %q", state), http.StatusBadRequest)
			return
		}
		orders.ServeHTTP(w, r)
	})
}

// newRESTHandlerGRPC is newRESTHandler for a grpc-go server. grpc-go sends the retry delay in a trailer, where its own
// clients look for it. Transcoded adds the header Retry-After for REST clients.
func newRESTHandlerGRPC(path string, g *grpc.Server) http.Handler {
	return newRESTHandler(path, connectgate.Transcoded(g),
		vanguard.WithTargetProtocols(vanguard.ProtocolGRPC), vanguard.WithTargetCodecs(vanguard.CodecProto))
}
