// Package connecthost has the hosts of package connectgate for the conformance table:
// both versions of Connect and the middleware, with clients of all three protocols.
package connecthost
