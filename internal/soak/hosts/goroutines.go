package hosts

import (
	"bytes"
	"fmt"
	"runtime"
	"runtime/pprof"
	"time"
)

// left is an error if there are more goroutines than before, and stay.
func left(before int) error {
	if eventually(func() bool { return runtime.NumGoroutine() <= before }) {
		return nil
	}
	var stacks bytes.Buffer
	_ = pprof.Lookup("goroutine").WriteTo(&stacks, 1)
	return fmt.Errorf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, stacks.Bytes())
}

// eventually waits until ok holds, with patience.
func eventually(ok func() bool) bool {
	for end := time.Now().Add(patience); !ok(); {
		if time.Now().After(end) {
			return false
		}
		<-time.After(5 * time.Millisecond)
	}
	return true
}
