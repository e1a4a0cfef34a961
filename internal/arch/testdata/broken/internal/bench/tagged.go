//go:build tagged

package bench // a file that is not always built, in a module of its own, imports the demo

import _ "github.com/rpcgate/rpcgate/demo/app"
