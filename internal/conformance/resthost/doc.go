// Package resthost has the hosts for clients of REST in the conformance table: Vanguard
// in front of Connect and of grpc-go, and grpc-gateway. With Vanguard, clients of
// Connect can also call grpc-go.
package resthost
