// Package resthost has the hosts that clients of REST reach, for the conformance
// table: Vanguard in front of Connect and of grpc-go, and grpc-gateway. It also
// has clients of Connect in front of grpc-go, which Vanguard makes possible.
package resthost
