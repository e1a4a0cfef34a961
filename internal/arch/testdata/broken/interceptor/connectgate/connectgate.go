package connectgate // links grpc through stubs that it gets from a package of its own module

import (
	_ "connectrpc.com/connect"
	_ "github.com/rpcgate/rpcgate/interceptor/internal/mapping"
)
