package measure

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// threadTime is the CPU time that the calling thread has used so far. The goroutine must be locked to its thread. Unlike
// wall time it stands still while somebody else has the core.
func threadTime() time.Duration {
	var used unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &used); err != nil {
		panic(fmt.Sprintf("measure: clock of the thread: %v", err))
	}
	return time.Duration(used.Nano())
}
