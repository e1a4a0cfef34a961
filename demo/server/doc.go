// Package server serves the orders and the reports of the demo: gRPC, gRPC-Web and Connect on one port, with gates in
// front of the database or, to see the difference, without.
package server
