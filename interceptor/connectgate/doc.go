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
//	// Either version: before a request is read, and so that gRPC clients retry
//	mux.Handle(path, connectgate.NewMiddleware(db)(handler))
//	http.ListenAndServe(addr, connectgate.TrailersOnly(mux))
//
// A refused client gets resource_exhausted or unavailable with the details
// google.rpc.RetryInfo, ErrorInfo and RequestInfo. In the Connect protocol that is
// HTTP 429 or 503 with a Retry-After header, for streams an end of the stream with
// Retry-After in its metadata. In gRPC and gRPC-Web it is a status with the trailer
// grpc-retry-pushback-ms. gRPC clients with a retry policy obey the trailer if the
// server is wrapped in [TrailersOnly].
//
// Caches must not store the refusal of a GET: it has Cache-Control: no-store. A
// Cache-Control that a handler further out has set is replaced by [NewMiddleware], and by
// an interceptor on a server that httpgate.ConfigureServer has configured. Otherwise it
// stays beside it, and no-store takes precedence.
//
// Pages of other origins see a refusal only if the middleware of CORS is around
// [NewMiddleware]; an interceptor is always inside of it. Let CORS expose Retry-After and
// Grpc-Retry-Pushback-Ms, or scripts cannot read when to retry. OPTIONS requests, and so
// preflights, are no calls and pass.
//
// A v1 interceptor runs after a unary request was read and decoded. A v2 interceptor
// and [NewMiddleware] run before that.
//
// To stop the net/http server of a handler so that no call is lost, use
// httpgate.Shutdown. While a gate drains, a refusal over HTTP/1.1 also closes the
// connection, so that the client goes elsewhere. Over HTTP/2 the connection has other
// calls, too. An interceptor knows the version of HTTP if httpgate.ConfigureServer has
// configured the server; otherwise it also ends connections of HTTP/2, except for gRPC.
//
// Health checks and reflection are exempt unless a rule of a [gate.Policy] says
// otherwise. A handler finds its lease with [gate.LeaseFromContext] and may release
// it early. If a handler returns the *[gate.Rejection] of a gate of its own, the
// client is refused as if the interceptor had done it.
package connectgate

import "github.com/rpcgate/rpcgate/interceptor"

// Option configures an interceptor or middleware; see package interceptor.
type Option = interceptor.Option

const pkg = "connectgate"
