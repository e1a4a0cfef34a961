package testv1 // stubs

import _ "google.golang.org/grpc"

var Registry map[string]int // not hand-written: no rule looks at it
