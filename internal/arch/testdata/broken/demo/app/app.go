package app // the demo may import everything

import (
	_ "github.com/rpcgate/rpcgate/gate"
	_ "google.golang.org/grpc"
)
