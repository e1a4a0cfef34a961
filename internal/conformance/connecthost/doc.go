// Package connecthost has the hosts of package connectgate for the conformance
// table: both versions of Connect and the middleware, each as clients of all
// three protocols see it.
package connecthost
