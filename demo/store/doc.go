// Package store keeps the orders of the demo in an embedded SQLite database.
//
// [Ensure] makes the seed once: a file with many orders, the same on every machine. The seed is never written
// again; a server works on a [Copy] of it, so that two servers, or the two sides of a rush, start from the same
// data and never meet. [Open] gives the database/sql pool over such a copy, and its methods are the queries.
package store
