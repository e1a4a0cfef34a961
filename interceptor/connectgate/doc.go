// Package connectgate puts a gate into a Connect server or client, of
// connectrpc.com/connect (v1) and connectrpc.com/connect/v2:
//
//	db := gate.Must(gate.New("orders-db", 16))
//
//	// Connect v1
//	path, handler := ordersv1connect.NewOrderServiceHandler(orders,
//		connect.WithInterceptors(connectgate.NewInterceptor(db)))
//
//	// Connect v2
//	server := connectv2.NewServer(connectgate.NewServerInterceptor(db))
//
//	// Either of them, before a request is read, and with it all retries of gRPC clients
//	mux.Handle(path, connectgate.NewMiddleware(db)(handler))
//	http.ListenAndServe(addr, connectgate.TrailersOnly(mux))
//
// A refused client gets resource_exhausted, or unavailable, with
// google.rpc.RetryInfo, ErrorInfo and RequestInfo. On the Connect protocol that
// is HTTP 429 or 503 with a Retry-After header, for streams the end of the
// stream with Retry-After in its metadata. On gRPC and gRPC-Web it is a status
// with the trailer grpc-retry-pushback-ms, which gRPC clients with a retry
// policy obey if the server is wrapped in [TrailersOnly].
//
// A v1 interceptor runs after a unary request was read and decoded, a v2
// interceptor and [NewMiddleware] run before that.
//
// Health checks and reflection are exempt unless a [gate.Policy] says otherwise.
// Handlers find their lease with [gate.LeaseFromContext] and may release it
// early. A *[gate.Rejection] that a handler returns, from a gate of its own, is
// told to the client in the same way as one of the interceptor's.
package connectgate

import "github.com/rpcgate/rpcgate/interceptor"

// Option configures what this package makes; see package interceptor.
type Option = interceptor.Option

const pkg = "connectgate"
