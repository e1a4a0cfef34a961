package unlinked // a helper of tests: may import stubs and have variables, but not import the demo

import (
	_ "github.com/rpcgate/rpcgate/demo/app"
	_ "github.com/rpcgate/rpcgate/gen/rpcgate/test/v1"
)

var State int
