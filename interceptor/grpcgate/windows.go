package grpcgate

import "google.golang.org/grpc"

// The windows of BoundedWindows.
const (
	streamWindow     = 1<<16 - 1 // grpc-go takes no smaller one
	connectionWindow = 16 << 20
)

// BoundedWindows returns the options that bound what the server keeps of the requests
// that nobody reads yet:
//
//	server := grpc.NewServer(append(grpcgate.ServerOptions(db), grpcgate.BoundedWindows()...)...)
//
// Without it grpc-go widens its windows to what the network can carry, up to 16 MiB. Then
// the transport holds as much of the request of each call that waits, as a stream or in
// [BeforeDecode]: 4 to 6 MiB after uploads with round trips of 50 ms. With it that is 64
// KiB. A waiting call never holds up the other calls on its connection, with these
// options or without: grpc-go gives the connection's window back when data arrives, read
// or not. The connection's window is 16 MiB, which bounds the throughput of a connection
// to 16 MiB per round trip and takes no memory.
//
// What it costs: a stream of many messages uploads at most 64 KiB per round trip, so that
// 8 MiB take 8.5 s instead of 0.9 s if a round trip takes 50 ms. A single large message is
// not slower, since grpc-go widens the window for it once it is being read. Do not combine
// this with other options about windows, such as grpc.InitialWindowSize: the last one
// counts. It has no effect on grpc.Server.ServeHTTP, where the windows belong to net/http.
func BoundedWindows() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.StaticStreamWindowSize(streamWindow),
		grpc.StaticConnWindowSize(connectionWindow),
	}
}
