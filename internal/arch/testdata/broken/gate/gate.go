package gate // imports another module and its own module's options

import (
	_ "sync"

	_ "connectrpc.com/connect"
	_ "github.com/rpcgate/rpcgate/gen/rpcgate/v1"
)
