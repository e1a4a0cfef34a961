// Bench measures what the gates of this kit cost, by themselves and as part of calls, beside other limiters, and
// prints one table, and after it each target with what came of it:
//
//	cd internal/bench && go run . [micro|growth|calls|cpu|goodput|all] [-quick]
//
// # How far to trust it
//
// Nanoseconds are those of one machine on one day. What can be compared are the ratios: both numbers of a pair are
// measured in turn, a few milliseconds apart, and the table shows the median of the pairs between their quartiles.
//
// What runs on one goroutine is measured in the CPU time of its thread, and a sample is the quickest of 25 portions that
// are spread over the whole measurement. So it says what the code takes when nothing is in the way, also on a machine
// that does other things: the quartiles stay within 3 %. What the garbage collector does later, on other threads, is not
// in it; the column "B/op" tells of that. Ratios depend on the processor: the target of a mutex that is slow there is
// easier to meet.
//
// What needs two goroutines is measured by the clock on the wall. A virtual machine may have only half of its cores for
// seconds at a time, without any clock telling; so each sample is taken between two spins of known length, and dropped
// if the cores were not there. The column "kept" says how many remained: few of them, or quartiles far apart, say that
// the machine was not quiet. Medians of two cores repeat to about ten percent, hand-offs and whole calls to about twenty.
//
// What calls cost a server is the CPU time of a process of its own. How many calls it finds at once when it wakes up
// differs from sample to sample, so the quartiles are ten to twenty percent apart; the median of 41 rounds repeats to
// about five. What a waiting call costs is the heap and the stack that Go has in use for it, next to a call that is
// blocked at the same spot without a gate; the process as a whole (RSS) grows by more, and by more or less each time.
//
// Bytes and allocations are exact, but for whole calls they count client and server together. Nothing here says what
// more than two cores do to one cache line. Other limiters that act on the use of the CPU have that trigger switched
// off, or always on: a benchmark uses all the CPU there is.
//
// It is a module of its own, so that the other limiters never enter the dependencies of the kit.
package main
