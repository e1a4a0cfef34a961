// Package grpchost has the hosts of package grpcgate for the conformance table.
package grpchost
