// Package conformance has a table of what every host of a gate must do, and runs it
// against a host: the interceptors for grpc-go and Connect, the gates before decode,
// the middleware.
//
// To add a host, write a [Host] value and a test that calls [Run], as in package
// grpchost. All cases run in synctest bubbles. So a host serves over an in-memory
// transport, and time costs nothing and is exact.
//
// This prints the table of cases and hosts:
//
//	go run ./internal/conformance/matrix
package conformance
