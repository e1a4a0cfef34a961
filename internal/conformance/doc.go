// Package conformance has one table of what every host of a gate must do, and
// runs it against a host: the interceptors for grpc-go and Connect, the gates
// before decode, the middleware.
//
// A host plugs in with a [Host] value and a test that calls [Run]; package
// grpchost shows how. All cases run in synctest bubbles, so a host serves over
// an in-memory transport, and time costs nothing and is exact.
//
// The table, host by case:
//
//	go run ./internal/conformance/matrix
package conformance
