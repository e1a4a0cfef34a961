package gate

import (
	"context"
	"time"
)

// arrival is a call on its way through one gate, and what was decided about it. The
// [Call] itself goes beside it: the compiler takes what a struct points to for kept
// if any of its fields is, and would put each Call on the heap.
type arrival struct {
	ctx      context.Context // of the call
	level    int
	want     int64
	ownCap   int64 // of the call's key, 0 if it has none of its own
	wait     wait
	interest Interest // of the observers
	now      moment   // at is 0 if the clock was not read

	// What queueUp finds out, if asked is set. wait.most is then how long the call
	// may wait, all in all.
	asked    bool
	short    Reason          // not 0 if the deadline leaves too little to wait
	gone     <-chan struct{} // the context's Done
	selfWait bool            // ctx holds a lease on the gate already

	verdict  verdict
	reason   Reason // of a rejection, and of what a dry run lets pass
	observed bool   // an observer wants to hear what came of the call
	slot     *slot  // of a call that waits
	woken    bool   // the message that ended the wait was received
	waited   time.Duration
	lease    Lease   // of a call that goes ahead
	numbers  numbers // of the moment of the decision
	stretch  float64 // of the retry delay
	err      error   // of a context that has ended, or of the zero Gate
}

// verdict is what a gate makes of an arrival.
type verdict uint8

const (
	admitted     verdict = iota + 1
	mayWait              // if its deadline leaves time
	queued               // stands in the queue
	rejected             // is not admitted
	abandoned            // its context has ended
	passed               // let through by a dry run that would have rejected it
	passedInLine         // let through by a dry run that would have made it wait
	failed               // the gate was not made by New
)
