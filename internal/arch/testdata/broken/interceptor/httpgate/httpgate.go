package httpgate // imports the demo, and with it what the demo links

import (
	_ "net/http"

	_ "github.com/rpcgate/rpcgate/demo/app"
)
