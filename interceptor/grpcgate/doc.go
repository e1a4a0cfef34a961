// Package grpcgate puts a gate into a grpc-go server or client:
//
//	db := gate.Must(gate.New("orders-db", 16))
//	server := grpc.NewServer(grpcgate.ServerOptions(db)...)
//
// A refused client gets ResourceExhausted or Unavailable with the details
// google.rpc.RetryInfo, ErrorInfo and RequestInfo, and the trailer
// grpc-retry-pushback-ms. A client with a retry policy waits for as long as the
// trailer says, then tries again. It does not retry if an interceptor before the
// gate has set a response header: grpc-go retries only a status without headers
// ("Trailers-Only"). Set trailers there instead.
//
// A unary interceptor runs after the request was read and decoded.
// [BeforeDecode] gates calls before that. [TapHandle] refuses some calls even
// before they have a stream.
//
// [Shutdown] stops a server so that no call is lost: new calls are sent to other
// servers while the calls in flight, and those that wait, finish.
//
// # Slow readers
//
// A unary response is sent after its lease was released. In a stream, Send waits while
// the windows of the client are full (64 KiB by default in grpc-go), and the stream holds
// its lease until the call's deadline ends it, or until keepalive finds that the client
// has gone (keepalive.ServerParameters, by default after two hours and 20 s). A client
// that answers pings and does not read is only ended by a deadline. So see to it that
// streams have one, or release the lease early.
//
// # Exempt routes, errors of handlers
//
// Health checks and reflection are exempt unless a rule of a [gate.Policy] says
// otherwise. A handler finds its lease with [gate.LeaseFromContext] and may release
// it early. If a handler returns the *[gate.Rejection] of a gate of its own, the
// client is refused as if the interceptor had done it.
package grpcgate

import "github.com/rpcgate/rpcgate/interceptor"

// Option configures an interceptor; see package interceptor.
type Option = interceptor.Option

const pkg = "grpcgate"
