package grpcgate // links another host and the SDK

import (
	_ "connectrpc.com/connect"
	_ "go.opentelemetry.io/otel/sdk"
	_ "google.golang.org/grpc"
)
