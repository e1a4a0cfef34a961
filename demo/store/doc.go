// Package store keeps the orders of the demo in an embedded SQLite database.
//
// [Ensure] makes the seed once: a file with many orders, the same on every machine. The seed is never written
// again. Each server works on its own [Copy], so two servers, or the two sides of a rush, start from the same data
// and do not affect each other. [Open] opens a pool of connections to such a copy. Its methods are the queries.
package store
