// Package grpcgate puts a gate into a grpc-go server or client:
//
//	db := gate.Must(gate.New("orders-db", 16))
//	server := grpc.NewServer(grpcgate.ServerOptions(db)...)
//
// A refused client gets ResourceExhausted, or Unavailable, with
// google.rpc.RetryInfo, ErrorInfo and RequestInfo, and the trailer
// grpc-retry-pushback-ms, which clients with a retry policy obey. They do so
// only if nothing before the gate has set a response header: use trailers there
// too (grpc-go sends a status without headers as "Trailers-Only", and retries
// nothing else).
//
// A unary interceptor runs after the request was read and decoded.
// [BeforeDecode] gates calls before that, and [TapHandle] turns some away even
// before they are calls.
//
// To stop a server, drain its gates and then call GracefulStop: clients are told
// to go elsewhere while the calls in flight are finished.
//
// Health checks and reflection are exempt unless a [gate.Policy] says otherwise.
// Handlers find their lease with [gate.LeaseFromContext] and may release it
// early. A *[gate.Rejection] that a handler returns, from a gate of its own, is
// told to the client in the same way as one of the interceptor's.
package grpcgate

import "github.com/rpcgate/rpcgate/interceptor"

// Option configures what this package makes; see package interceptor.
type Option = interceptor.Option

const pkg = "grpcgate"
