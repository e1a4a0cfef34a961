package httpgate // imports the demo and a rig, and with them what they link

import (
	_ "net/http"

	_ "github.com/rpcgate/rpcgate/demo/app"
	_ "github.com/rpcgate/rpcgate/internal/rig"
)
