// Bench measures what the gates of this kit cost, by themselves and as part of calls, beside other limiters, and
// prints one table:
//
//	cd internal/bench && go run . [micro|growth|calls|cpu|goodput|all] [-quick]
//
// # How far to trust it
//
// Nanoseconds are those of one machine on one day. What can be compared are the ratios: both numbers of a pair come
// from the same round, a few milliseconds apart, and the table shows the median of the pairs between their quartiles. A
// virtual machine may have only half of its cores for seconds at a time, without any clock telling; so each sample is
// taken between two spins of known length, and dropped if the cores were not there. The column "kept" says how many
// remained: few of them, or quartiles far apart, say that the machine was not quiet.
//
// With that, medians of one goroutine repeat to a few percent, those of two cores to about ten, hand-offs to about
// twenty, and whole calls, even as CPU time of a server in a process of its own, to ten or twenty. Bytes and allocations
// are exact, but for whole calls they count client and server together. Nothing here says what more than two cores do
// to one cache line. Other limiters that act on the use of the CPU have that trigger switched off, or always on: a
// benchmark uses all the CPU there is.
//
// It is a module of its own, so that the other limiters never enter the dependencies of the kit.
package main
