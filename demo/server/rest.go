package server

import (
	"net/http"

	"connectrpc.com/vanguard"
	"google.golang.org/genproto/googleapis/api/annotations"

	"github.com/rpcgate/rpcgate/gen/demo/orders/v1/ordersv1connect"
)

// restPath is what REST clients' paths begin with.
const restPath = "/v1/"

// newRESTHandler serves the orders to REST clients:
//
//	GET  /v1/orders?state=open&region=north+coast&limit=3
//	POST /v1/orders
//
// It turns their requests into calls of the Connect handler. So the gate, which is in there, sees REST as it sees
// Connect, and what it refuses comes out as 429 or 503 with Retry-After. The rules are here and not in the .proto
// files, which would need google/api/annotations.proto for that.
func newRESTHandler(ordersPath string, orders http.Handler) http.Handler {
	const service = ordersv1connect.OrderServiceName
	rest, err := vanguard.NewTranscoder(
		[]*vanguard.Service{vanguard.NewService(ordersPath, orders,
			// state=open says what the list is anyway.
			vanguard.WithRESTUnmarshalOptions(vanguard.RESTUnmarshalOptions{DiscardUnknownQueryParams: true}),
		)},
		vanguard.WithRules(
			&annotations.HttpRule{
				Selector: service + ".ListOpenOrders",
				Pattern:  &annotations.HttpRule_Get{Get: restPath + "orders"},
			},
			&annotations.HttpRule{
				Selector: service + ".CreateOrder",
				Pattern:  &annotations.HttpRule_Post{Post: restPath + "orders"},
				Body:     "*",
			},
		),
	)
	if err != nil { // a rule of ours is wrong
		panic(err)
	}
	return rest
}
