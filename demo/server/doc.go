// Package server serves the orders and the reports of the demo: gRPC, gRPC-Web, Connect and REST on one port. It has
// gates in front of the database or, to show the difference, none.
package server
