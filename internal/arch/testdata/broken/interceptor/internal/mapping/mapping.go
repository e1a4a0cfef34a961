package mapping // shared by hosts, without a wall

import _ "github.com/rpcgate/rpcgate/gen/rpcgate/test/v1"

var State int
