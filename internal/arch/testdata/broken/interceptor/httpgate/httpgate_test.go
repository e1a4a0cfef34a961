package httpgate

import _ "github.com/rpcgate/rpcgate/internal/rig"
