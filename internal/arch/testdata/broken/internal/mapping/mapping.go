package mapping // linked by a library package

import _ "github.com/rpcgate/rpcgate/gen/rpcgate/test/v1"

var State int
